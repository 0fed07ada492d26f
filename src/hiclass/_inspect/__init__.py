"""Tools that look inside fitted models: reports, reasons for single rows, queries of pipelines.

Input: a fitted model, alone or in a pipeline or search, and rows. Output: plain data, and text or
HTML made from it. Called by users and by the command line.
"""
