"""Looking inside fitted models: reports, reasons for single rows, queries through pipelines.

Comes in: a fitted model, alone or in a pipeline or search, and rows. Goes out: plain data, then
text or HTML made of it. Called by users and by the command line.
"""
