"""Fitted models for other programs: files that run no code (skops), graphs for ONNX Runtime.

Input: a fitted model. Output: the types in its file, a loaded model, or an ONNX graph. Called by
users and by the command line.
"""
