"""Paints the session list before the TUI library is imported.

That import alone takes longer than to read the list of the last run and to write it out. What does not change between
two starts on the same terminal (frames, hints, colours) is kept from the first frame of the run before, as a
`SplashImage`; the rows are written anew each time, from the sessions as they were last known, with their ages of now.
A moment later the program paints its own first frame over it.
"""
