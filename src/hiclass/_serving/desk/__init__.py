"""The desk: a local web page on which people code the rows of a queue.

Input: rows with suggested classes, the hierarchy, and decisions over HTTP. Output: a journal that
has every decision on disk before the next row is shown. ``queue.py`` and ``search.py`` hold data
that never changes, ``journal.py`` the file, ``desk.py`` the state that follows from both,
``app.py`` HTTP, and ``page/`` the web page. Called by the command line.
"""
