! intercept_mpif: as intercept.c, from Fortran with mpif.h, fixed form.
      program intercept_mpif
      implicit none
      include 'mpif.h'
      include 'intercept_data.inc'
      integer comm
      integer requests(2)
      integer types(most)
      call MPI_Init(ierror)
      include 'intercept_body.inc'
      call MPI_Finalize(ierror)
      end program

      subroutine require(condition, place)
      implicit none
      logical condition
      integer place
      call hp_intercept_require(merge(1, 0, condition), place)
      end subroutine

      subroutine from_c(comm, values, n, root, sums)
      implicit none
      integer comm, n, values(n), root, sums(n)
      call hp_intercept_from_c(comm, values, n, root, sums)
      end subroutine
