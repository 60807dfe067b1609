"""Pictures and tables from what hanpmpi_tune and hanpmpi_bench measured.

command reads the options; inputs the files; pictures/ has one file a picture, each with its numbers, its drawing and its table; report
keeps what they made; style is how all of them look. One process, one thread; files are written into the output folder only."""
__version__ = "0.1.0"
