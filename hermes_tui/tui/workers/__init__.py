"""Background threads of the terminal program, each with one job."""
