"""What the operating system gives: paths, files, locks, signals, the terminal."""
