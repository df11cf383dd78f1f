"""Tool calls as people read them: target, arguments, change of files, outcome."""
