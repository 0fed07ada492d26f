"""Predictions over HTTP: JSON comes in, JSON goes out.

Comes in: a fitted pipeline of table features and a classifier, and requests. Goes out: paths with
confidences, or an error that says what is wrong, where, and what to do. ``service.py`` knows rows
and models but no HTTP, ``app.py`` HTTP but no sockets, ``server.py`` sockets. Called by the command
line; whatever else shows a model to people uses the same three.
"""
