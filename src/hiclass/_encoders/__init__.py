"""Texts to vectors, by whatever encoder a user brings.

In come texts and an encoder: a language model, a table of word vectors, a transformer of
scikit-learn or a function. Out goes a vector for each text, checked. ``encoding.py`` calls and
checks, ``identity.py`` says which encoder it was, ``store.py`` keeps vectors on disk, and
``text_encoder.py`` is the public transformer. Rooms above may call ``encode_texts``.
"""
