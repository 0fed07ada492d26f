"""Labels as users write them, to codes: the only room that sees labels of all forms and types.

Comes in: ``y`` as a list, an array or a frame, with missing ends and any type of label. Goes out:
integer codes per level (``columns``), or codes per row for several labels (``sets``), and how to
write labels in the same way. Called by ``hierarchy`` and ``_targets``.
"""
