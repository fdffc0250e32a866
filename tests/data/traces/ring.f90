program ring
  use mpi
  implicit none
  integer :: me, n, err, i, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE), got
  double precision :: x(8192), y(8192)
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, err)
  call MPI_Comm_size(MPI_COMM_WORLD, n, err)
  x = me
  call MPI_Irecv(y, 8192, MPI_DOUBLE_PRECISION, mod(me + n - 1, n), 7, MPI_COMM_WORLD, requests(1), err)
  call MPI_Isend(x, 8192, MPI_DOUBLE_PRECISION, mod(me + 1, n), 7, MPI_COMM_WORLD, requests(2), err)
  call MPI_Waitall(2, requests, statuses, err)
  if (statuses(MPI_SOURCE, 1) /= mod(me + n - 1, n)) stop 1
  if (y(1) /= mod(me + n - 1, n)) stop 2
  call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, err)
  if (x(1) /= n * (n - 1) / 2) stop 3
  if (me == 0) call MPI_Send(x, 100, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, err)
  if (me == 1) then
    call MPI_Recv(y, 200, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, err)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, got, err)
    if (got /= 100 .or. status(MPI_SOURCE) /= 0 .or. status(MPI_TAG) /= 5) stop 4
  end if
  call MPI_Bcast(x, 10, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, err)
  call MPI_Sendrecv(x, 1, MPI_DOUBLE_PRECISION, ieor(me, 1), 1, y, 1, MPI_DOUBLE_PRECISION, ieor(me, 1), 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, err)
  call MPI_Finalize(err)
end program
