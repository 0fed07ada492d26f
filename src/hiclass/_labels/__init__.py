"""Labels as users write them, to codes: the only room that sees labels of all forms and types.

Comes in: ``y`` as a list, an array or a frame, with any type of label, missing at the end of paths.
Goes out: integer codes per level (``columns``), or codes per row for several labels (``sets``), and
how the labels were written. Called by ``hierarchy`` and ``_targets``.
"""
