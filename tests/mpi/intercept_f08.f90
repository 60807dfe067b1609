! intercept_f08: as intercept.c, from Fortran with "use mpi_f08". MPI_Init without ierror hands C a NULL pointer.
program intercept_f08
  use mpi_f08
  implicit none
  interface
    subroutine hp_intercept_require(condition, place) bind(C, name="hp_intercept_require_")
      integer, intent(in) :: condition, place
    end subroutine
    subroutine hp_intercept_verify(bcasts, reduces, allreduces, barriers, blocks) bind(C, name="hp_intercept_verify_")
      integer, intent(in) :: bcasts, reduces, allreduces, barriers, blocks
    end subroutine
    subroutine hp_intercept_from_c(comm, values, count, root, sums) bind(C, name="hp_intercept_from_c_")
      integer, intent(in) :: comm, count, root
      integer :: values(count), sums(count)
    end subroutine
  end interface
  include 'intercept_data.inc'
  type(MPI_Comm) :: comm
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: types(most)
  call MPI_Init()
  include 'intercept_body.inc'
  call without_ierror()
  call hp_intercept_verify(bcasts, reduces, allreduces, barriers, blocks)
  call MPI_Finalize()
contains
  subroutine require(condition, place)
    logical, intent(in) :: condition
    integer, intent(in) :: place
    call hp_intercept_require(merge(1, 0, condition), place)
  end subroutine

  subroutine from_c(handle, data, count, source, results)
    type(MPI_Comm), intent(in) :: handle
    integer, intent(in) :: count, source
    integer :: data(count), results(count)
    call hp_intercept_from_c(handle%MPI_VAL, data, count, source, results)
  end subroutine

  subroutine without_ierror()
    values = rank
    call MPI_Bcast(values, n, MPI_INTEGER, 0, MPI_COMM_WORLD)
    bcasts = bcasts + 1
    call require(all(values == 0), 12)
    values = 1
    call MPI_Reduce(values, sums, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    reduces = reduces + 1
    if (rank == 0) call require(all(sums == nranks), 13)
    call MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    allreduces = allreduces + 1
    call require(all(values == nranks), 14)
    call MPI_Barrier(MPI_COMM_WORLD)
    barriers = barriers + 1
  end subroutine
end program
