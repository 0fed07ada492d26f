"""Predictions over HTTP, from JSON to JSON.

Input: a fitted pipeline of table features and a classifier, and requests. Output: paths with
confidences, or an error that names the value, the place and the remedy. ``service.py`` knows rows
and models but not HTTP, ``app.py`` knows HTTP but not sockets, and ``server.py`` knows sockets.
Called by the command line. Other ways to show a model to people use the same three modules.
"""
