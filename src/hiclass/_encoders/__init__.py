"""Texts to vectors, with any encoder of the user.

Input: texts and an encoder, which may be a language model, a table of word vectors, a transformer
of scikit-learn or a function. Output: one checked vector per text. ``encoding.py`` calls and
checks, ``identity.py`` identifies the encoder, ``store.py`` stores vectors on disk, and
``text_encoder.py`` is the public transformer. Rooms above may call ``encode_texts``.
"""
