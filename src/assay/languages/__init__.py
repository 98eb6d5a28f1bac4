"""Languages, one file each: the words around a question, and how answers in it are read."""
