"""Fitted models for elsewhere: files that run no code (skops) and graphs for ONNX Runtime.

Comes in: a fitted model. Goes out: the types that its file consists of, a model that was loaded, or
an ONNX graph. Called by users and by the command line.
"""
