"""Convert labels of users to codes: the only room that sees labels of all forms and types.

Input: ``y`` as a list, an array or a frame, with any type of label, missing at the end of paths.
Output: integer codes per level (``columns``), or codes per row for several labels (``sets``), and
the format of the labels. Called by ``hierarchy`` and ``_targets``.
"""
