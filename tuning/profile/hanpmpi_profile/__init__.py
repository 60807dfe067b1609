"""What a recording of an MPI program says.

command reads the options; recording reads the files; symbols and places name the call sites; totals adds records
up; views/ has one file a view, each with its numbers, its table and its picture; show, page, scaling, overlap,
diff and advice are the commands. tables is how numbers are printed, to a terminal, a page or JSON. Only the page
needs matplotlib. One process, one thread."""
__version__ = "0.1.0"
