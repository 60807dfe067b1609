#!/bin/bash
# test_layers: rooms include only what lies below them, and the front needs neither MPI nor hwloc.
#
# usage: test_layers.sh SOURCE_DIR libhanpmpi.so
# The order (ARCHITECTURE.md): base below; topo_tree and event_engine side by side on it; hier on both;
# pmpi_wrappers on top, of which the front stands on base alone. mpi.h is seen in pmpi_wrappers/backend only, by
# mpi_glue.h, hwloc in topo_tree only, jansson in hier/planning and in the
# report of the watchdog, libev in the backend, only.
set -u
source_dir=$1
library=$2
failures=0

complain() {
    echo "$*" >&2
    failures=$((failures + 1))
}

# includes FOLDER: "file: header" for each #include "..." or <...> under src/FOLDER.
includes() {
    grep -rnE '^[[:space:]]*#[[:space:]]*include' "$source_dir/src/$1" --include='*.[ch]' --include='*.def' |
        sed -E 's/^([^:]*):[0-9]+:[[:space:]]*#[[:space:]]*include[[:space:]]*["<]?([^">]*)[">]?.*/\1: \2/'
}

# may_include FOLDER PATTERN: everything of ours that FOLDER includes must match one of the patterns.
may_include() {
    local folder=$1 pattern=$2 bad
    [ -d "$source_dir/src/$folder" ] || complain "no folder src/$folder"
    bad=$(includes "$folder" | grep -E ': (base|topo_tree|event_engine|hier|pmpi_wrappers|hanpmpi|tuning|\.\.)/?' |
        grep -vE ": ($pattern)")
    [ -z "$bad" ] || complain "src/$folder may include $pattern only:"$'\n'"$bad"
}

may_include base 'base/'
may_include topo_tree 'base/|topo_tree/'
may_include event_engine 'base/|event_engine/'
may_include hier 'base/|topo_tree/|event_engine/|hier/|\.\./\.\./\.\./\.\./tuning/default_rules\.def'
may_include pmpi_wrappers/backend 'base/|topo_tree/|event_engine/|hier/|hanpmpi/|pmpi_wrappers/(backend/|[a-z_]*\.(h|def))'
may_include pmpi_wrappers/smpi 'base/|topo_tree/|hanpmpi/|pmpi_wrappers/(backend/glue/(machine|mpi_glue)\.h|front/exports\.h|[a-z_]*\.(h|def))'
may_include pmpi_wrappers/front 'base/|hanpmpi/|pmpi_wrappers/(front/|[a-z_]*\.(h|def))'

bad=$(includes . | grep -E ': (mpi[a-z_]*\.h|HP_MPI_HEADER)' | grep -v 'src/\./pmpi_wrappers/backend/glue/mpi_glue\.h:')
[ -z "$bad" ] || complain "mpi.h is for pmpi_wrappers/backend/glue/mpi_glue.h only:"$'\n'"$bad"
includes pmpi_wrappers/backend | grep -q ': HP_MPI_HEADER' || complain "nothing includes mpi.h: is this test up to date?"
bad=$(includes . | grep ': hwloc' | grep -v 'src/\./topo_tree/')
[ -z "$bad" ] || complain "hwloc is for topo_tree only:"$'\n'"$bad"
bad=$(includes . | grep ': jansson' | grep -v -e 'src/\./hier/planning/' -e 'src/\./pmpi_wrappers/backend/observe/stall_json\.c:')
[ -z "$bad" ] || complain "jansson is for hier/planning and stall_json.c only:"$'\n'"$bad"
bad=$(includes . | grep -E ': ev\.h' | grep -v 'src/\./pmpi_wrappers/backend/')
[ -z "$bad" ] || complain "libev is for pmpi_wrappers/backend only:"$'\n'"$bad"
# An MPI name outside pmpi_wrappers would be a type or a call: comments and messages may name MPI_Bcast.
bad=$(grep -rnwE '(MPI_(Comm|Datatype|Op|Request|Status|Aint|Count)|P?MPI_[A-Z][a-z_]+ *\()' \
    "$source_dir"/src/{base,topo_tree,event_engine,hier} --include='*.[ch]' |
    grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|.*/\*.*MPI_|.*".*MPI_)')
[ -z "$bad" ] || complain "host MPI pmpi_wrappers:"$'\n'"$bad"

bad=$(nm -D --undefined-only "$library" | grep -E ' P?MPI_| hwloc_| json_| ev_')
[ -z "$bad" ] || complain "$library needs symbols of MPI, hwloc, jansson or libev:"$'\n'"$bad"
nm -D --defined-only "$library" | grep -qE ' PMPI_Bcast$' || complain "$library exports no PMPI_Bcast"
bad=$(readelf -d "$library" | grep NEEDED | grep -E 'libmpi|hwloc|jansson|libev')
[ -z "$bad" ] || complain "$library is linked to:"$'\n'"$bad"

[ "$failures" -eq 0 ] && echo "layers are in order"
exit $((failures != 0))
