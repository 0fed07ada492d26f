"""The order of the examples in the gallery: from the first steps to special subjects."""

ORDER = (
    "hello",
    "probabilities",
    "policies",
    "empty_levels",
    "best_path",
    "calibration",
    "abstaining",
    "conformal",
    "coding",
    "several_labels",
    "dag",
    "model_per_node",
    "text_encoder",
    "class_texts",
    "global_forest",
    "lightgbm",
    "torch_child",
    "torch_head",
    "incremental",
    "ray",
    "explain_coefficients",
    "explain_shap",
    "report",
)


class GalleryOrder:
    """Sort key for sphinx-gallery; an example that is not listed is an error."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, filename):
        """Return the position of a file such as ``plot_hello.py``."""
        return ORDER.index(filename.removeprefix("plot_").removesuffix(".py"))

    def __repr__(self):
        return "<GalleryOrder>"
