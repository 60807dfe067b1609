! intercept_use_mpi: as intercept.c, from Fortran with "use mpi".
program intercept_use_mpi
  use mpi
  implicit none
  include 'intercept_data.inc'
  integer :: comm
  integer :: requests(2)
  integer :: types(most)
  call MPI_Init(ierror)
  include 'intercept_body.inc'
  call MPI_Finalize(ierror)
contains
  subroutine require(condition, place)
    logical, intent(in) :: condition
    integer, intent(in) :: place
    call hp_intercept_require(merge(1, 0, condition), place)
  end subroutine

  subroutine from_c(handle, data, count, source, results)
    integer, intent(in) :: handle, count, source
    integer :: data(count), results(count)
    call hp_intercept_from_c(handle, data, count, source, results)
  end subroutine
end program
