/* Log the messages of an MPI program, for `tagloom predict --trace`: preloaded, it writes what otf2-print would.

   mpicc -shared -fPIC -O2 -o message_log.so message_log.c
   TAGLOOM_TRACE=run.trace mpirun -np 4 -x TAGLOOM_TRACE -x LD_PRELOAD=$PWD/message_log.so ./program

   Each process keeps its events in a temporary file; at MPI_Finalize rank 0 writes all of them to $TAGLOOM_TRACE
   (messages.trace if unset). Partners are ranks of MPI_COMM_WORLD. Point-to-point calls, persistent ones too, and
   blocking collectives are logged; collectives that do not block, one-sided and partitioned calls are not. With Open
   MPI, Fortran's calls of mpif.h and `use mpi` are led here too; those of `use mpi_f08` are not. */

#define _GNU_SOURCE
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (1 << 20)
#define TAG 7301

typedef struct {
    MPI_Request request;
    MPI_Comm comm;
    int receives, persistent, active, partner, tag;
    long long bytes;
} Pending;

static FILE *events;
static int me, world_size, key = MPI_KEYVAL_INVALID;
static double began;
static Pending *pending;
static int pendings, room;

static long long now(void) { return (long long)((PMPI_Wtime() - began) * 1e9); }

static long long bytes_of(int count, MPI_Datatype type) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || count <= 0) return 0;
    PMPI_Type_size(type, &size);
    return (long long)count * size;
}

static void call(const char *kind, const char *name) {
    if (events) fprintf(events, "%s %d %lld Region: \"%s\"\n", kind, me, now(), name);
}

/* Write the world ranks of a communicator, both sides of an intercommunicator, and return how many they are. */
static int members(MPI_Comm comm, int **ranks) {
    MPI_Group group, world;
    int size, between = 0;
    PMPI_Comm_test_inter(comm, &between);
    if (between) PMPI_Comm_remote_group(comm, &group);
    else PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &size);
    int *from = malloc(sizeof(int) * (size + 1));
    *ranks = malloc(sizeof(int) * (size + 1));
    for (int i = 0; i < size; i++) from[i] = i;
    PMPI_Group_translate_ranks(group, size, from, world, *ranks);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    free(from);
    return size;
}

static int in_world(MPI_Comm comm, int rank) {
    int *ranks, found;
    if (comm == MPI_COMM_WORLD || rank < 0) return rank;
    int size = members(comm, &ranks);
    found = rank < size ? ranks[rank] : MPI_UNDEFINED;
    free(ranks);
    return found;
}

static int nothing(MPI_Comm comm, int which, void *value, void *extra) {
    (void)comm, (void)which, (void)extra;
    free(value);
    return MPI_SUCCESS;
}

/* Return the number of a communicator, the same on all of its ranks: a hash of who they are. Defines it at first. */
static uint64_t number_of(MPI_Comm comm) {
    uint64_t *known = NULL, hash = 14695981039346656037ull;
    int flag = 0, *ranks, size;
    if (comm == MPI_COMM_WORLD) return 0;
    PMPI_Comm_get_attr(comm, key, &known, &flag);
    if (flag) return *known;
    size = members(comm, &ranks);
    for (int i = 0; i < size; i++) hash = (hash ^ (uint64_t)(ranks[i] + 1)) * 1099511628211ull;
    hash >>= 4;
    fprintf(events, "GROUP %" PRIu64 " Type: COMM_GROUP, %d Members: ", hash, size);
    for (int i = 0; i < size; i++) fprintf(events, "%s%d", i ? ", " : "", ranks[i]);
    fprintf(events, "\nCOMM %" PRIu64 " Group: <%" PRIu64 ">\n", hash, hash);
    free(ranks);
    known = malloc(sizeof(uint64_t));
    *known = hash;
    PMPI_Comm_set_attr(comm, key, known);
    return hash;
}

static void sent(const char *what, int to, MPI_Comm comm, int tag, long long bytes) {
    if (!events || to == MPI_PROC_NULL) return;
    fprintf(events, "%s %d %lld Receiver: %d, Communicator: <0>, Tag: %d, Length: %lld\n", what, me, now(),
            in_world(comm, to), tag, bytes);
}

static void received(const char *what, MPI_Comm comm, MPI_Status *status) {
    int bytes = 0, cancelled = 0;
    if (!events || status->MPI_SOURCE < 0) return;
    PMPI_Test_cancelled(status, &cancelled);
    if (cancelled) return;
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    fprintf(events, "%s %d %lld Sender: %d, Communicator: <0>, Tag: %d, Length: %d\n", what, me, now(),
            in_world(comm, status->MPI_SOURCE), status->MPI_TAG, bytes == MPI_UNDEFINED ? 0 : bytes);
}

static void collective(const char *what, MPI_Comm comm, int root, long long out, long long in, const int *counts,
                       MPI_Datatype type) {
    if (!events) return;
    uint64_t number = number_of(comm);
    fprintf(events, "MPI_COLLECTIVE_END %d %lld Operation: %s, Communicator: <%" PRIu64 ">, Root: ", me, now(), what,
            number);
    if (root >= 0) fprintf(events, "%d", root);
    else fprintf(events, "UNDEFINED");
    fprintf(events, ", Sent: %lld, Received: %lld", out, in);
    if (counts) {
        int size;
        PMPI_Comm_size(comm, &size);
        fprintf(events, ", To each:");
        for (int i = 0; i < size; i++) fprintf(events, " %lld", bytes_of(counts[i], type));
    }
    fputc('\n', events);
}

static Pending *remember(MPI_Request request, MPI_Comm comm, int receives, int persistent) {
    if (pendings == room) pending = realloc(pending, sizeof(Pending) * (room = room ? 2 * room : 64));
    pending[pendings] = (Pending){request, comm, receives, persistent, !persistent, 0, 0, 0};
    return &pending[pendings++];
}

static Pending *find(MPI_Request request) {
    for (int i = pendings - 1; i >= 0; i--)
        if (pending[i].request == request) return &pending[i];
    return NULL;
}

static void completed(MPI_Request request, MPI_Status *status) {
    Pending *found = request == MPI_REQUEST_NULL ? NULL : find(request);
    if (!found || !found->active) return;
    if (found->receives) received("MPI_IRECV", found->comm, status);
    if (found->persistent) found->active = 0;
    else *found = pending[--pendings];
}

static void start(void) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, nothing, &key, NULL);
    PMPI_Barrier(MPI_COMM_WORLD);
    began = PMPI_Wtime();
    events = tmpfile();
    if (!events) fprintf(stderr, "tagloom: rank %d logs no messages: no temporary file\n", me);
    call("LEAVE", "MPI_Init");
}

int MPI_Init(int *argc, char ***argv) {
    int answer = PMPI_Init(argc, argv);
    start();
    return answer;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    /* Events of several threads at once would mix: at most one at a time is in MPI. */
    int answer = PMPI_Init_thread(argc, argv, required > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : required,
                                  provided);
    start();
    return answer;
}

int MPI_Finalize(void) {
    const char *name = getenv("TAGLOOM_TRACE");
    FILE *file = NULL;
    char *chunk = malloc(CHUNK);
    int count, all = events != NULL, everywhere = 0;
    call("ENTER", "MPI_Finalize");
    PMPI_Allreduce(&all, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (everywhere) {
        rewind(events);
        if (me == 0) {
            if (!name || !*name) name = "messages.trace";
            if (!(file = fopen(name, "w"))) perror(name);
        }
        if (file) {
            fprintf(file, "CLOCK_PROPERTIES Ticks per Seconds: 1000000000\n");
            fprintf(file, "GROUP 0 Type: COMM_LOCATIONS, %d Members: ", world_size);
            for (int i = 0; i < world_size; i++) fprintf(file, "%s%d", i ? ", " : "", i);
            fprintf(file, "\nCOMM 0 Group: <0>\n");
        }
        for (int rank = 0; rank < world_size; rank++) {
            do {
                if (me == rank) count = (int)fread(chunk, 1, CHUNK, events);
                if (me == rank && me) PMPI_Send(chunk, count, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
                if (me == 0 && rank) {
                    MPI_Status status;
                    PMPI_Recv(chunk, CHUNK, MPI_CHAR, rank, TAG, MPI_COMM_WORLD, &status);
                    PMPI_Get_count(&status, MPI_CHAR, &count);
                }
                if (file) fwrite(chunk, 1, count, file);
            } while ((me == 0 || me == rank) && count == CHUNK);
        }
        if (file && fclose(file)) perror(name);
        else if (file) fprintf(stderr, "tagloom: wrote the messages of %d ranks to %s\n", world_size, name);
    }
    if (events) fclose(events);
    events = NULL;
    free(chunk);
    return PMPI_Finalize();
}

/* Blocking and starting sends. */
#define SEND(name, record, parameters, arguments)                        \
    int name parameters {                                                \
        call("ENTER", #name);                                            \
        sent(record, to, comm, tag, bytes_of(count, type));              \
        int answer = P##name arguments;                                  \
        call("LEAVE", #name);                                            \
        return answer;                                                   \
    }
#define BLOCKING (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
#define STARTING (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
SEND(MPI_Send, "MPI_SEND", BLOCKING, (data, count, type, to, tag, comm))
SEND(MPI_Ssend, "MPI_SEND", BLOCKING, (data, count, type, to, tag, comm))
SEND(MPI_Rsend, "MPI_SEND", BLOCKING, (data, count, type, to, tag, comm))
SEND(MPI_Bsend, "MPI_SEND", BLOCKING, (data, count, type, to, tag, comm))
SEND(MPI_Isend, "MPI_ISEND", STARTING, (data, count, type, to, tag, comm, request))
SEND(MPI_Issend, "MPI_ISEND", STARTING, (data, count, type, to, tag, comm, request))
SEND(MPI_Irsend, "MPI_ISEND", STARTING, (data, count, type, to, tag, comm, request))
SEND(MPI_Ibsend, "MPI_ISEND", STARTING, (data, count, type, to, tag, comm, request))

#define INIT(name)                                                       \
    int name STARTING {                                                  \
        int answer = P##name(data, count, type, to, tag, comm, request); \
        Pending *one = remember(*request, comm, 0, 1);                   \
        one->partner = to, one->tag = tag, one->bytes = bytes_of(count, type); \
        return answer;                                                   \
    }
INIT(MPI_Send_init)
INIT(MPI_Ssend_init)
INIT(MPI_Rsend_init)
INIT(MPI_Bsend_init)

int MPI_Recv_init(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    int answer = PMPI_Recv_init(data, count, type, from, tag, comm, request);
    remember(*request, comm, 1, 1);
    return answer;
}

static void started(MPI_Request request) {
    Pending *found = find(request);
    if (!found || !found->persistent) return;
    found->active = 1;
    if (!found->receives) sent("MPI_ISEND", found->partner, found->comm, found->tag, found->bytes);
}

int MPI_Start(MPI_Request *request) {
    call("ENTER", "MPI_Start");
    started(*request);
    int answer = PMPI_Start(request);
    call("LEAVE", "MPI_Start");
    return answer;
}

int MPI_Startall(int count, MPI_Request requests[]) {
    call("ENTER", "MPI_Startall");
    for (int i = 0; i < count; i++) started(requests[i]);
    int answer = PMPI_Startall(count, requests);
    call("LEAVE", "MPI_Startall");
    return answer;
}

int MPI_Request_free(MPI_Request *request) {
    Pending *found = find(*request);
    if (found) *found = pending[--pendings];
    return PMPI_Request_free(request);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    call("ENTER", "MPI_Recv");
    if (status == MPI_STATUS_IGNORE) status = &own;
    int answer = PMPI_Recv(data, count, type, from, tag, comm, status);
    received("MPI_RECV", comm, status);
    call("LEAVE", "MPI_Recv");
    return answer;
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    call("ENTER", "MPI_Irecv");
    int answer = PMPI_Irecv(data, count, type, from, tag, comm, request);
    remember(*request, comm, 1, 0);
    call("LEAVE", "MPI_Irecv");
    return answer;
}

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *into, int most,
                 MPI_Datatype kind, int from, int their_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    call("ENTER", "MPI_Sendrecv");
    if (status == MPI_STATUS_IGNORE) status = &own;
    sent("MPI_SEND", to, comm, tag, bytes_of(count, type));
    int answer = PMPI_Sendrecv(data, count, type, to, tag, into, most, kind, from, their_tag, comm, status);
    received("MPI_RECV", comm, status);
    call("LEAVE", "MPI_Sendrecv");
    return answer;
}

int MPI_Sendrecv_replace(void *data, int count, MPI_Datatype type, int to, int tag, int from, int their_tag,
                         MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    call("ENTER", "MPI_Sendrecv_replace");
    if (status == MPI_STATUS_IGNORE) status = &own;
    sent("MPI_SEND", to, comm, tag, bytes_of(count, type));
    int answer = PMPI_Sendrecv_replace(data, count, type, to, tag, from, their_tag, comm, status);
    received("MPI_RECV", comm, status);
    call("LEAVE", "MPI_Sendrecv_replace");
    return answer;
}

/* Calls that complete requests: these are freed inside, so they are remembered beforehand. */
static MPI_Request *copied(int count, const MPI_Request *requests) {
    MPI_Request *kept = malloc(sizeof(MPI_Request) * (count + 1));
    memcpy(kept, requests, sizeof(MPI_Request) * count);
    return kept;
}

static int wait_or_test(const char *name, MPI_Request *request, int *flag, MPI_Status *status) {
    MPI_Status own;
    MPI_Request before = *request;
    int done = 1;
    call("ENTER", name);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int answer = flag ? PMPI_Test(request, &done, status) : PMPI_Wait(request, status);
    if (done) completed(before, status);
    if (flag) *flag = done;
    call("LEAVE", name);
    return answer;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) { return wait_or_test("MPI_Wait", request, NULL, status); }

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    return wait_or_test("MPI_Test", request, flag, status);
}

static int all_of(const char *name, int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    MPI_Request *before = copied(count, requests);
    MPI_Status *found = malloc(sizeof(MPI_Status) * (count + 1));
    int done = 1;
    call("ENTER", name);
    int answer = flag ? PMPI_Testall(count, requests, &done, found) : PMPI_Waitall(count, requests, found);
    for (int i = 0; done && i < count; i++) completed(before[i], &found[i]);
    if (done && statuses != MPI_STATUSES_IGNORE) memcpy(statuses, found, sizeof(MPI_Status) * count);
    if (flag) *flag = done;
    call("LEAVE", name);
    free(before);
    free(found);
    return answer;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return all_of("MPI_Waitall", count, requests, NULL, statuses);
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    return all_of("MPI_Testall", count, requests, flag, statuses);
}

static int any_of(const char *name, int count, MPI_Request requests[], int *which, int *flag, MPI_Status *status) {
    MPI_Request *before = copied(count, requests);
    MPI_Status own;
    int done = 1;
    call("ENTER", name);
    if (status == MPI_STATUS_IGNORE) status = &own;
    int answer =
        flag ? PMPI_Testany(count, requests, which, &done, status) : PMPI_Waitany(count, requests, which, status);
    if (done && *which != MPI_UNDEFINED) completed(before[*which], status);
    if (flag) *flag = done;
    call("LEAVE", name);
    free(before);
    return answer;
}

int MPI_Waitany(int count, MPI_Request requests[], int *which, MPI_Status *status) {
    return any_of("MPI_Waitany", count, requests, which, NULL, status);
}

int MPI_Testany(int count, MPI_Request requests[], int *which, int *flag, MPI_Status *status) {
    return any_of("MPI_Testany", count, requests, which, flag, status);
}

static int some_of(const char *name, int tests, int count, MPI_Request requests[], int *done, int which[],
                   MPI_Status statuses[]) {
    MPI_Request *before = copied(count, requests);
    MPI_Status *found = malloc(sizeof(MPI_Status) * (count + 1));
    call("ENTER", name);
    int answer = tests ? PMPI_Testsome(count, requests, done, which, found)
                       : PMPI_Waitsome(count, requests, done, which, found);
    for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++) {
        completed(before[which[i]], &found[i]);
        if (statuses != MPI_STATUSES_IGNORE) statuses[i] = found[i];
    }
    call("LEAVE", name);
    free(before);
    free(found);
    return answer;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *done, int which[], MPI_Status statuses[]) {
    return some_of("MPI_Waitsome", 0, count, requests, done, which, statuses);
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int which[], MPI_Status statuses[]) {
    return some_of("MPI_Testsome", 1, count, requests, done, which, statuses);
}

/* Blocking collectives: bytes to and from all ranks of the communicator, the own among them, as OTF2 counts. */
#define COLLECTIVE(name, operation, parameters, arguments, root, out, in, counts, type) \
    int name parameters {                                                \
        int size = 1, rank = 0;                                          \
        PMPI_Comm_size(comm, &size);                                     \
        PMPI_Comm_rank(comm, &rank);                                     \
        call("ENTER", #name);                                            \
        int answer = P##name arguments;                                  \
        collective(operation, comm, root, out, in, counts, type);        \
        call("LEAVE", #name);                                            \
        return answer;                                                   \
    }

static long long sum_of(const int *counts, MPI_Datatype type, int size) {
    long long sum = 0;
    for (int i = 0; i < size; i++) sum += bytes_of(counts[i], type);
    return sum;
}

COLLECTIVE(MPI_Barrier, "BARRIER", (MPI_Comm comm), (comm), -1, 0LL, 0LL, NULL, MPI_BYTE)
COLLECTIVE(MPI_Bcast, "BCAST", (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
           (data, count, type, root, comm), root, rank == root ? size * bytes_of(count, type) : 0,
           bytes_of(count, type), NULL, type)
COLLECTIVE(MPI_Reduce, "REDUCE",
           (const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
           (data, into, count, type, op, root, comm), root, bytes_of(count, type),
           rank == root ? size * bytes_of(count, type) : 0, NULL, type)
COLLECTIVE(MPI_Allreduce, "ALLREDUCE",
           (const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (data, into, count, type, op, comm), -1, size * bytes_of(count, type), size * bytes_of(count, type), NULL,
           type)
COLLECTIVE(MPI_Scan, "SCAN", (const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (data, into, count, type, op, comm), -1, bytes_of(count, type), bytes_of(count, type), NULL, type)
COLLECTIVE(MPI_Exscan, "EXSCAN",
           (const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (data, into, count, type, op, comm), -1, bytes_of(count, type), bytes_of(count, type), NULL, type)
COLLECTIVE(MPI_Alltoall, "ALLTOALL",
           (const void *data, int count, MPI_Datatype type, void *into, int most, MPI_Datatype kind, MPI_Comm comm),
           (data, count, type, into, most, kind, comm), -1, size * bytes_of(most, kind), size * bytes_of(most, kind),
           NULL, kind)
COLLECTIVE(MPI_Allgather, "ALLGATHER",
           (const void *data, int count, MPI_Datatype type, void *into, int most, MPI_Datatype kind, MPI_Comm comm),
           (data, count, type, into, most, kind, comm), -1, size * bytes_of(most, kind), size * bytes_of(most, kind),
           NULL, kind)
COLLECTIVE(MPI_Allgatherv, "ALLGATHERV",
           (const void *data, int count, MPI_Datatype type, void *into, const int most[], const int at[],
            MPI_Datatype kind, MPI_Comm comm),
           (data, count, type, into, most, at, kind, comm), -1, size * bytes_of(most[rank], kind),
           sum_of(most, kind, size), NULL, kind)
COLLECTIVE(MPI_Gather, "GATHER",
           (const void *data, int count, MPI_Datatype type, void *into, int most, MPI_Datatype kind, int root,
            MPI_Comm comm),
           (data, count, type, into, most, kind, root, comm), root,
           rank == root ? bytes_of(most, kind) : bytes_of(count, type), rank == root ? size * bytes_of(most, kind) : 0,
           NULL, type)
COLLECTIVE(MPI_Gatherv, "GATHERV",
           (const void *data, int count, MPI_Datatype type, void *into, const int most[], const int at[],
            MPI_Datatype kind, int root, MPI_Comm comm),
           (data, count, type, into, most, at, kind, root, comm), root,
           rank == root ? bytes_of(most[rank], kind) : bytes_of(count, type),
           rank == root ? sum_of(most, kind, size) : 0, NULL, type)
COLLECTIVE(MPI_Scatter, "SCATTER",
           (const void *data, int count, MPI_Datatype type, void *into, int most, MPI_Datatype kind, int root,
            MPI_Comm comm),
           (data, count, type, into, most, kind, root, comm), root, rank == root ? size * bytes_of(count, type) : 0,
           rank == root ? bytes_of(count, type) : bytes_of(most, kind), NULL, type)
COLLECTIVE(MPI_Scatterv, "SCATTERV",
           (const void *data, const int count[], const int at[], MPI_Datatype type, void *into, int most,
            MPI_Datatype kind, int root, MPI_Comm comm),
           (data, count, at, type, into, most, kind, root, comm), root, rank == root ? sum_of(count, type, size) : 0,
           rank == root ? bytes_of(count[rank], type) : bytes_of(most, kind), NULL, type)
COLLECTIVE(MPI_Reduce_scatter_block, "REDUCE_SCATTER_BLOCK",
           (const void *data, void *into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (data, into, count, type, op, comm), -1, size * bytes_of(count, type), size * bytes_of(count, type), NULL,
           type)
COLLECTIVE(MPI_Reduce_scatter, "REDUCE_SCATTER",
           (const void *data, void *into, const int count[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (data, into, count, type, op, comm), -1, sum_of(count, type, size), size * bytes_of(count[rank], type), NULL,
           type)

int MPI_Alltoallv(const void *data, const int counts[], const int at[], MPI_Datatype type, void *into,
                  const int most[], const int places[], MPI_Datatype kind, MPI_Comm comm) {
    int size = 1;
    PMPI_Comm_size(comm, &size);
    call("ENTER", "MPI_Alltoallv");
    int answer = PMPI_Alltoallv(data, counts, at, type, into, most, places, kind, comm);
    int same = data == MPI_IN_PLACE; /* counts mean nothing then: what comes from each goes to each */
    const int *each = same ? most : counts;
    MPI_Datatype what = same ? kind : type;
    collective("ALLTOALLV", comm, -1, sum_of(each, what, size), sum_of(most, kind, size), each, what);
    call("LEAVE", "MPI_Alltoallv");
    return answer;
}

#ifdef OPEN_MPI
/* Open MPI's Fortran bindings call the library inside, past the functions above: the same names in Fortran lead here.
   Where a program has no Fortran, the addresses that Fortran passes for IN_PLACE and BOTTOM are absent. */
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_bottom_ __attribute__((weak));

static void *address(void *data) {
    if (&mpi_fortran_in_place_ && data == &mpi_fortran_in_place_) return MPI_IN_PLACE;
    if (&mpi_fortran_bottom_ && data == &mpi_fortran_bottom_) return MPI_BOTTOM;
    return data;
}

#define F MPI_Fint *
#define COMM PMPI_Comm_f2c(*comm)
#define TYPE PMPI_Type_f2c(*type)
#define KIND PMPI_Type_f2c(*kind)
#define OP PMPI_Op_f2c(*op)
#define DATA address(data)
#define INTO address(into)

static void give_status(MPI_Fint *into, MPI_Status *from) {
    if (into != MPI_F_STATUS_IGNORE) PMPI_Status_c2f(from, into);
}

/* A call that only passes its arguments on. */
#define PASSED(name, parameters, expression) \
    void name parameters { *error = expression; }

void mpi_init_(F error) { *error = MPI_Init(NULL, NULL); }
void mpi_init_thread_(F required, F provided, F error) { *error = MPI_Init_thread(NULL, NULL, *required, provided); }
PASSED(mpi_finalize_, (F error), MPI_Finalize())
PASSED(mpi_send_, (void *data, F count, F type, F to, F tag, F comm, F error),
       MPI_Send(DATA, *count, TYPE, *to, *tag, COMM))
PASSED(mpi_ssend_, (void *data, F count, F type, F to, F tag, F comm, F error),
       MPI_Ssend(DATA, *count, TYPE, *to, *tag, COMM))
PASSED(mpi_rsend_, (void *data, F count, F type, F to, F tag, F comm, F error),
       MPI_Rsend(DATA, *count, TYPE, *to, *tag, COMM))
PASSED(mpi_bsend_, (void *data, F count, F type, F to, F tag, F comm, F error),
       MPI_Bsend(DATA, *count, TYPE, *to, *tag, COMM))
PASSED(mpi_barrier_, (F comm, F error), MPI_Barrier(COMM))
PASSED(mpi_bcast_, (void *data, F count, F type, F root, F comm, F error), MPI_Bcast(DATA, *count, TYPE, *root, COMM))
PASSED(mpi_reduce_, (void *data, void *into, F count, F type, F op, F root, F comm, F error),
       MPI_Reduce(DATA, INTO, *count, TYPE, OP, *root, COMM))
PASSED(mpi_allreduce_, (void *data, void *into, F count, F type, F op, F comm, F error),
       MPI_Allreduce(DATA, INTO, *count, TYPE, OP, COMM))
PASSED(mpi_scan_, (void *data, void *into, F count, F type, F op, F comm, F error),
       MPI_Scan(DATA, INTO, *count, TYPE, OP, COMM))
PASSED(mpi_alltoall_, (void *data, F count, F type, void *into, F most, F kind, F comm, F error),
       MPI_Alltoall(DATA, *count, TYPE, INTO, *most, KIND, COMM))
PASSED(mpi_alltoallv_, (void *data, F counts, F at, F type, void *into, F most, F places, F kind, F comm, F error),
       MPI_Alltoallv(DATA, counts, at, TYPE, INTO, most, places, KIND, COMM))
PASSED(mpi_allgather_, (void *data, F count, F type, void *into, F most, F kind, F comm, F error),
       MPI_Allgather(DATA, *count, TYPE, INTO, *most, KIND, COMM))
PASSED(mpi_allgatherv_, (void *data, F count, F type, void *into, F most, F at, F kind, F comm, F error),
       MPI_Allgatherv(DATA, *count, TYPE, INTO, most, at, KIND, COMM))
PASSED(mpi_gather_, (void *data, F count, F type, void *into, F most, F kind, F root, F comm, F error),
       MPI_Gather(DATA, *count, TYPE, INTO, *most, KIND, *root, COMM))
PASSED(mpi_gatherv_, (void *data, F count, F type, void *into, F most, F at, F kind, F root, F comm, F error),
       MPI_Gatherv(DATA, *count, TYPE, INTO, most, at, KIND, *root, COMM))
PASSED(mpi_scatter_, (void *data, F count, F type, void *into, F most, F kind, F root, F comm, F error),
       MPI_Scatter(DATA, *count, TYPE, INTO, *most, KIND, *root, COMM))
PASSED(mpi_scatterv_, (void *data, F count, F at, F type, void *into, F most, F kind, F root, F comm, F error),
       MPI_Scatterv(DATA, count, at, TYPE, INTO, *most, KIND, *root, COMM))
PASSED(mpi_reduce_scatter_, (void *data, void *into, F count, F type, F op, F comm, F error),
       MPI_Reduce_scatter(DATA, INTO, count, TYPE, OP, COMM))

/* Calls that begin requests. */
#define BEGUN(name, function)                                                                          \
    void name(void *data, F count, F type, F other, F tag, F comm, F request, F error) {               \
        MPI_Request own = MPI_REQUEST_NULL;                                                            \
        *error = function(DATA, *count, TYPE, *other, *tag, COMM, &own);                               \
        *request = PMPI_Request_c2f(own);                                                              \
    }
BEGUN(mpi_isend_, MPI_Isend)
BEGUN(mpi_issend_, MPI_Issend)
BEGUN(mpi_irsend_, MPI_Irsend)
BEGUN(mpi_ibsend_, MPI_Ibsend)
BEGUN(mpi_irecv_, MPI_Irecv)
BEGUN(mpi_send_init_, MPI_Send_init)
BEGUN(mpi_recv_init_, MPI_Recv_init)

void mpi_recv_(void *data, F count, F type, F from, F tag, F comm, F status, F error) {
    MPI_Status own;
    *error = MPI_Recv(DATA, *count, TYPE, *from, *tag, COMM, &own);
    give_status(status, &own);
}

void mpi_sendrecv_(void *data, F count, F type, F to, F tag, void *into, F most, F kind, F from, F their_tag, F comm,
                   F status, F error) {
    MPI_Status own;
    *error = MPI_Sendrecv(DATA, *count, TYPE, *to, *tag, INTO, *most, KIND, *from, *their_tag, COMM, &own);
    give_status(status, &own);
}

void mpi_sendrecv_replace_(void *data, F count, F type, F to, F tag, F from, F their_tag, F comm, F status, F error) {
    MPI_Status own;
    *error = MPI_Sendrecv_replace(DATA, *count, TYPE, *to, *tag, *from, *their_tag, COMM, &own);
    give_status(status, &own);
}

void mpi_wait_(F request, F status, F error) {
    MPI_Request own = PMPI_Request_f2c(*request);
    MPI_Status found;
    *error = MPI_Wait(&own, &found);
    *request = PMPI_Request_c2f(own);
    give_status(status, &found);
}

void mpi_test_(F request, F flag, F status, F error) {
    MPI_Request own = PMPI_Request_f2c(*request);
    MPI_Status found;
    *error = MPI_Test(&own, flag, &found);
    *request = PMPI_Request_c2f(own);
    if (*flag) give_status(status, &found);
}

static MPI_Request *of_fortran(int count, const MPI_Fint *requests) {
    MPI_Request *own = malloc(sizeof(MPI_Request) * (count + 1));
    for (int i = 0; i < count; i++) own[i] = PMPI_Request_f2c(requests[i]);
    return own;
}

static void to_fortran(int count, MPI_Request *own, MPI_Fint *requests) {
    for (int i = 0; i < count; i++) requests[i] = PMPI_Request_c2f(own[i]);
    free(own);
}

void mpi_waitall_(F count, F requests, MPI_Fint (*statuses)[sizeof(MPI_Status) / sizeof(int)], F error) {
    MPI_Request *own = of_fortran(*count, requests);
    MPI_Status *found = malloc(sizeof(MPI_Status) * (*count + 1));
    *error = MPI_Waitall(*count, own, found);
    for (int i = 0; (MPI_Fint *)statuses != MPI_F_STATUSES_IGNORE && i < *count; i++)
        PMPI_Status_c2f(&found[i], statuses[i]);
    to_fortran(*count, own, requests);
    free(found);
}

void mpi_waitany_(F count, F requests, F which, F status, F error) {
    MPI_Request *own = of_fortran(*count, requests);
    MPI_Status found;
    int at = MPI_UNDEFINED;
    *error = MPI_Waitany(*count, own, &at, &found);
    *which = at == MPI_UNDEFINED ? at : at + 1;
    to_fortran(*count, own, requests);
    give_status(status, &found);
}

void mpi_start_(F request, F error) {
    MPI_Request own = PMPI_Request_f2c(*request);
    *error = MPI_Start(&own);
    *request = PMPI_Request_c2f(own);
}

void mpi_startall_(F count, F requests, F error) {
    MPI_Request *own = of_fortran(*count, requests);
    *error = MPI_Startall(*count, own);
    to_fortran(*count, own, requests);
}

void mpi_request_free_(F request, F error) {
    MPI_Request own = PMPI_Request_f2c(*request);
    *error = MPI_Request_free(&own);
    *request = PMPI_Request_c2f(own);
}
#endif
