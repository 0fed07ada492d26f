"""The desk: a page on this machine on which people code the rows of a queue.

Comes in: rows with suggested classes, the hierarchy, and decisions over HTTP. Goes out: a journal
that has every decision on disk before the next row is shown. ``queue.py`` and ``search.py`` are
data that never changes, ``journal.py`` is the file, ``desk.py`` what follows from both, ``app.py``
HTTP, and ``page/`` what the browser shows. Called by the command line.
"""
