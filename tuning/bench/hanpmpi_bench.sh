#!/bin/sh
# hanpmpi_bench, hanpmpi_tune, hanpmpi_replay: runs the program of the same name with .<mpi> behind it that belongs to the launcher that
# started this.
#
# Open MPI's launcher tells its processes OMPI_COMM_WORLD_SIZE, a PMIx launcher PMIX_RANK; those of MPICH, Intel MPI and
# the standard ABI set PMI_RANK. HANPMPI_BENCH_MPI (openmpi, mpich, mpiabi) decides where that does not tell enough:
# mpich comes before mpiabi.
self=$(readlink -f "$0")
here=$(dirname "$self")
name=$(basename "$self")
installed=
for mpi in openmpi mpich mpiabi; do
  [ -x "$here/$name.$mpi" ] && installed="$installed $mpi"
done

# hanpmpi_tune --teach starts jobs itself.
if [ "$name" = hanpmpi_tune ]; then
  case " $* " in
  *" --teach"[\ =]*)
    if [ "${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-1}}" -gt 1 ]; then
      [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] &&
        echo "$name: --teach starts the jobs itself. Run: $name --teach MPI -o FILE -- mpirun -np 16" >&2
      exit 2
    fi
    export HANPMPI_TEACH_BIN="$here" HANPMPI_TEACH_VERSION="@PROJECT_VERSION@" PYTHONDONTWRITEBYTECODE=1
    export PYTHONPATH="$here/@HP_TEACH_FROM_BIN@${PYTHONPATH:+:$PYTHONPATH}"
    exec python3 -m hanpmpi_teach "$@"
    ;;
  esac
fi

say() {
  [ "${PMIX_RANK:-${PMI_RANK:-0}}" = 0 ] && echo "$name: $*" >&2
}

case " $* " in *" --help "* | *" --version "* | *" --smpi"[\ =]*) talk=1 ;; *) talk= ;; esac
if [ -n "$HANPMPI_BENCH_MPI" ]; then
  wanted=$HANPMPI_BENCH_MPI
elif [ -n "$OMPI_COMM_WORLD_SIZE$PMIX_RANK" ]; then
  wanted=openmpi
elif [ -n "$PMI_RANK$PMI_SIZE" ]; then
  wanted="mpich mpiabi"
elif [ -n "$talk" ] || [ "$(echo $installed | wc -w)" = 1 ]; then
  wanted=$installed
else
  say "no MPI launcher started this. Run: mpirun -np 4 $0 ...; or one of these by name:"
  for mpi in $installed; do say "  $here/$name.$mpi"; done
  exit 2
fi

unset HANPMPI_BENCH_MPI # the library would take it for a setting of its own that it does not know
for mpi in $wanted; do
  case " $installed " in *" $mpi "*) exec "$here/$name.$mpi" "$@" ;; esac
done
say "started by a launcher of $wanted, but only this is installed:$installed. Launch it with the mpirun of one of these,"
say "or build hanpmpi with the mpicc of that MPI in PATH. HANPMPI_BENCH_MPI=NAME overrides what the launcher says."
exit 2
