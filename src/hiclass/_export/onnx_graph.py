"""Writing ONNX graphs: operations by name, constants, and the graphs of skl2onnx in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from hiclass._typing import AnyArray, IntArray

#: What ONNX Runtime 1.14 and newer understand.
OPSETS = {"": 18, "ai.onnx.ml": 3}
_IR_VERSION = 8


def import_onnx() -> tuple[Any, Any]:
    """The packages onnx and skl2onnx, or an error that says how to get them."""
    try:
        import onnx
        import skl2onnx
    except ImportError as error:
        error.add_note("Install them with: pip install onnx skl2onnx")
        raise
    return onnx, skl2onnx


class Graph:
    """A graph that grows by operations; values are known by their names.

    Parameters
    ----------
    n_features : int
        Number of columns of the input ``X``.
    dtype : dtype
        Its type.

    Attributes
    ----------
    x : str
        The input with 64 bits.
    """

    def __init__(self, n_features: int, dtype: np.dtype[Any]) -> None:
        self._onnx, self._skl2onnx = import_onnx()
        self._n_features = n_features
        self._nodes: list[Any] = []
        self._constants: dict[Any, Any] = {}
        self._outputs: list[Any] = []
        self._opsets = dict(OPSETS)
        self._input = self._value("X", dtype, [n_features])
        self.x = "X" if dtype == np.float64 else self.cast("X", np.float64)
        self._n_rows = ""

    def _type(self, dtype: Any) -> int:
        dtype = np.dtype(dtype)
        if dtype.kind in "OU":
            return int(self._onnx.TensorProto.STRING)
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(dtype))

    def _value(self, name: str, dtype: Any, shape: Any) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), ["n", *shape])

    def _new_name(self) -> str:
        return f"v{len(self._nodes)}"

    # -- operations ----------------------------------------------------------------------------

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation; return the name of its result."""
        name = self._new_name()
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def constant(self, value: AnyArray) -> str:
        """Add a constant, once however often it is used."""
        if value.dtype.kind == "i":
            value = value.astype(np.int64)
        content = tuple(value.flat) if value.dtype.kind == "O" else value.tobytes()
        key = value.dtype.str, value.shape, content
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = self._onnx.numpy_helper.from_array(value, name)
        return str(self._constants[key].name)

    def cast(self, value: str, dtype: Any) -> str:
        """Change the type of a value."""
        return self.op("Cast", value, to=self._type(dtype))

    def reshape(self, value: str, shape: list[int]) -> str:
        """Change the shape of a value; 0 keeps a length."""
        return self.op("Reshape", value, self.constant(np.array(shape)))

    def concat(self, values: list[str]) -> str:
        """Put columns side by side."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=1)

    def take(self, values: str, index: str, axis: int) -> str:
        """Look up entries."""
        return self.op("Gather", values, index, axis=axis)

    def pick(self, value: str, columns: IntArray) -> str:
        """Some columns, in a given order."""
        return self.take(value, self.constant(columns), 1)

    def argmax(self, value: str, axis: int) -> str:
        """The first of the largest entries."""
        return self.op("ArgMax", value, axis=axis, keepdims=0)

    def same_for_all_rows(self, row: AnyArray) -> str:
        """A constant with the number of rows of the input."""
        if not self._n_rows:
            self._n_rows = self.op("Shape", "X", start=0, end=1)
        shape = self.op("Concat", self._n_rows, self.constant(np.array([len(row)])), axis=0)
        return self.op("Expand", self.constant(row.reshape(1, -1)), shape)

    # -- transformers and local classifiers ----------------------------------------------------

    def transform(self, transformers: list[Any], width: int) -> None:
        """Add what skl2onnx makes of transformers; ``x`` is what comes out of the last one."""
        whole = make_pipeline(*transformers)
        try:
            self.x = self._convert(whole, 0, self.x, self._n_features, narrow=False)
        except Exception as error:
            names = " > ".join(type(step).__name__ for step in transformers)
            reason = " ".join(str(error).split())
            raise ValueError(
                f"{names}, before the model, cannot be converted to ONNX ({type(error).__name__}: "
                f"{reason}). Convert the last step of the pipeline, and transform rows in Python."
            ) from error
        self._n_features = width

    def convert(self, classifier: Any) -> str:
        """Add what skl2onnx makes of a classifier; return its probabilities."""
        source, width = self.x, self._n_features
        *before, last = parts_of(classifier)
        narrow = _is_narrow(last)
        if narrow and before:
            # With 64 bits up to the trees, as in Python: rounding may move a row over a threshold.
            source = self._convert(make_pipeline(*before), 0, source, width, narrow=False)
            width, before = last.n_features_in_, []
        source = self.cast(source, np.float32) if narrow else source
        options = {id(last): {"zipmap": False}}
        whole = make_pipeline(*before, last) if before else last
        proba = self._convert(whole, 1, source, width, narrow, options=options)
        return self.cast(proba, np.float64)

    def _convert(
        self, estimator: Any, wanted: int, source: str, width: int, narrow: bool, **options: Any
    ) -> str:
        """Add what one of the outputs needs that skl2onnx makes of an estimator; return its name.

        The labels of a classifier, its other output, are not needed: they would take time.
        """
        types = self._skl2onnx.common.data_types
        kind = types.FloatTensorType if narrow else types.DoubleTensorType
        converted = self._skl2onnx.convert_sklearn(
            estimator, initial_types=[("X", kind([None, width]))], target_opset=OPSETS, **options
        )
        # It may mix numbers of 32 and 64 bits: ONNX Runtime refuses some such graphs, and in others
        # trees see other numbers than in Python.
        self._onnx.checker.check_model(converted, full_check=True)
        prefix = f"{self._new_name()}_"
        part = self._onnx.compose.add_prefix(converted, prefix)
        output = part.graph.output[wanted].name
        nodes, needed = _needed(part.graph.node, output)
        # ONNX Runtime refuses this operation on no rows: it gets one more, which is dropped again.
        one_more = any(node.op_type == "ArrayFeatureExtractor" for node in nodes)
        if one_more:
            row = np.zeros((1, width), dtype=np.float32 if narrow else np.float64)
            source = self.op("Concat", source, self.constant(row), axis=0)
        self._nodes.append(
            self._onnx.helper.make_node("Identity", [source], [f"{prefix}X"], f"{prefix}input")
        )
        self._nodes.extend(nodes)
        tensors = [tensor for tensor in part.graph.initializer if tensor.name in needed]
        self._constants |= {tensor.name: tensor for tensor in tensors}
        for used in part.opset_import:
            self._opsets.setdefault(used.domain, used.version)
        if one_more:
            first, last = (self.constant(np.array([end])) for end in (0, -1))
            output = self.op("Slice", output, first, last, first)
        return str(output)

    # -- the result ----------------------------------------------------------------------------

    def output(self, name: str, value: str, dtype: Any, shape: Any) -> None:
        """Give a value a name and hand it out; ``shape`` is that of one row."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name], name))
        self._outputs.append(self._value(name, dtype, shape))

    def model(self, metadata: dict[str, str]) -> Any:
        """The finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes,
            "hiclass",
            [self._input],
            self._outputs,
            list(self._constants.values()),
        )
        model = helper.make_model(
            graph,
            producer_name="hiclass",
            producer_version=metadata["hiclass.version"],
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid(d, v) for d, v in sorted(self._opsets.items())],
        )
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model)
        return model


def _needed(nodes: Any, output: str) -> tuple[list[Any], set[str]]:
    """The operations that an output depends on, and the names of all values that they use."""
    needed = {output}
    kept = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(_inputs(node))
    return kept[::-1], needed


def _inputs(node: Any) -> set[str]:
    """The values that an operation uses, also in the graphs of a loop."""
    names = set(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names |= _inputs(inner)
    return names


def n_features_of(first: Any) -> int:
    """The number of columns of the input, from whatever reads it first."""
    n_features = getattr(first, "n_features_in_", None)
    if n_features is None:
        raise ValueError(
            f"This {type(first).__name__} was not fitted on a matrix. Only rows of numbers can be "
            f"converted to ONNX: turn texts into numbers before the model."
        )
    return int(n_features)


def parts_of(child: Any) -> list[Any]:
    """The steps of a pipeline, also of those within it, or the child itself."""
    if not isinstance(child, Pipeline):
        return [child]
    steps = [step for _, step in child.steps if step is not None and step != "passthrough"]
    return [part for step in steps for part in parts_of(step)]


def _is_narrow(classifier: Any) -> bool:
    """Whether a classifier reads its rows with 32 bits, as scikit-learn's trees do."""
    trees = getattr(classifier, "estimators_", [classifier])
    first = trees.flat[0] if isinstance(trees, np.ndarray) else trees[0]
    return hasattr(first, "tree_")
