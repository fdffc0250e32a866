/* A program of every kind of message that the logger knows, of sizes that a test adds up by itself. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me, n, at[64] = {0}, mine[64], theirs[64];
    MPI_Comm half;
    MPI_Request two[2], again;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    char *out = calloc(1, 1 << 20), *in = calloc(1, 1 << 20);
    MPI_Irecv(in, 65536, MPI_CHAR, (me + n - 1) % n, 7, MPI_COMM_WORLD, &two[0]);
    MPI_Isend(out, 65536, MPI_CHAR, (me + 1) % n, 7, MPI_COMM_WORLD, &two[1]);
    usleep(2000); /* while the messages are on their way */
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    MPI_Allreduce(out, in, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(out, 4096, MPI_CHAR, in, 4096, MPI_CHAR, half);
    MPI_Bcast(in, 1000, MPI_CHAR, 1, MPI_COMM_WORLD);
    MPI_Reduce(in, out, 100, MPI_CHAR, MPI_MAX, 2, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++) mine[k] = 100 * (k + 1), theirs[k] = 100 * (me + 1);
    MPI_Alltoallv(out, mine, at, MPI_CHAR, in, theirs, at, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Sendrecv(out, 10, MPI_CHAR, me ^ 1, 1, in, 10, MPI_CHAR, me ^ 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Gather(out, 20, MPI_CHAR, in, 20, MPI_CHAR, 3, MPI_COMM_WORLD);
    MPI_Scatter(out, 30, MPI_CHAR, in, 30, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Allgather(out, 40, MPI_CHAR, in, 40, MPI_CHAR, MPI_COMM_WORLD);
    if (me % 2) MPI_Recv_init(in, 50, MPI_CHAR, me - 1, MPI_ANY_TAG, MPI_COMM_WORLD, &again);
    else MPI_Send_init(out, 50, MPI_CHAR, me + 1, 9, MPI_COMM_WORLD, &again);
    for (int k = 0; k < 2; k++) {
        MPI_Start(&again);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&again);
    MPI_Comm_rank(half, &at[0]);
    if (at[0] == 0) MPI_Send(out, 60, MPI_CHAR, 1, 2, half);
    if (at[0] == 1) MPI_Recv(in, 60, MPI_CHAR, MPI_ANY_SOURCE, 2, half, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
