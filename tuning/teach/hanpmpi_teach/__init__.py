"""hanpmpi_tune --teach: finds the best of an MPI's collective algorithms on this machine and writes the host MPI's files for it.

`command` what is asked for and the order of things · `hosts` an MPI each: what it has, its files · `jobs` MPI jobs, also those
that hang · `campaign` what is measured in which job · `choose` from times to ranges of sizes · `verify` with the files against
without · `wisdom` what the library's earlier runs say. The times come from hanpmpi_teach.<mpi>, a program in C."""
