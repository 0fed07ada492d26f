"""The text after the options in the help of every command: examples and notes."""

DESCRIPTION = "Classify rows of a file into a hierarchy of classes."
GENERAL = """\
from a file to a model in use:
  hiclass tree data.csv --target product sub_product           inspect the labels
  hiclass fit data.csv --target product sub_product -o model.skops
  hiclass evaluate model.skops test.csv                        how good is it?
  hiclass explain model.skops test.csv --row 3                 why this class?
  hiclass predict model.skops new.csv -o out.csv               use it on a file
  hiclass serve model.skops                                    use it over HTTP

No data yet? Try: hiclass demo. Every command has its own help: hiclass fit --help
"""
FIT = """\
examples:
  hiclass fit data.csv --target product sub_product --text narrative -o model.skops
  hiclass fit data.csv --target category --path-separator " > " -o model.skops
  hiclass fit animals.parquet --target class order family --cv 5 -o animals.skops
  hiclass fit visits.csv --target chapter block --groups patient --effort best -o model.skops
  hiclass fit data.jsonl.gz --target a b --text narrative --model parent -o model.skops
  hiclass fit genes.csv --target terms --label-separator ";" --hierarchy go.obo -o model.skops

An empty cell in a column of labels ends the path of its row. Without --text, --numbers,
--categories and --dates, all other columns are features, except ids, columns with a single value
and columns with a different value in every row. The choice of features and model, with reasons, is
written to standard error. A warning names every column that almost determines the target on its
own.
"""
PREDICT = """\
examples:
  hiclass predict model.skops new.csv -o out.csv
  hiclass predict model.skops new.csv.gz --min-confidence 0.8 --keep id -o out.parquet
  cat new.tsv | hiclass predict model.skops - --format tsv > out.csv

Two columns are added for every level: predicted_NAME and confidence_NAME, both empty after the end
of a path. If the model was fitted with --path-separator, predicted_NAME holds the whole path, and
confidence_NAME_1, confidence_NAME_2, ... hold the confidence of every level. In CSV and TSV, a text
that a spreadsheet would run as a formula (it starts with = + - @, a tab or a line break, and is not
a number) is prefixed with an apostrophe, unless --unprotected is given. Loading a model runs no
code.
"""
EVALUATE = """\
examples:
  hiclass evaluate model.skops test.csv
  hiclass evaluate model.skops test.csv --baseline train.csv
  hiclass evaluate model.skops test.csv --report report.html --min-confidence 0.8
  hiclass evaluate model.skops test.csv --report report.html --examples narrative

"classes here" is the number of classes of a level in the true or predicted paths of these rows.
"reached" is the share of rows whose predicted path reaches the level.
"""
EXPLAIN = """\
examples:
  hiclass explain model.skops test.csv --row 3
  hiclass explain model.skops test.csv --row 3 --top 10 -o why.html

For every step down the hierarchy, the output shows the probability of the chosen class, the
runners-up, and the features for (+) and against (-) the chosen class, compared with the first
runner-up.
"""
REPORT = """\
examples:
  hiclass report model.skops test.csv -o report.html
  hiclass report model.skops test.csv -o report.html --examples narrative
  hiclass report model.skops new.csv -o report.html --label-errors --compare valid.csv

The report is one HTML file that loads nothing from the network. It contains no rows of the data,
unless --examples or --label-errors (row numbers and labels) is given. Use rows that the model was
not fitted on.
"""
TUNE = """\
examples:
  hiclass tune model.skops valid.csv --precision 0.95 -o careful.skops

Of the labels that the new model predicts for these rows, over all levels, at least this share is
correct. To reach it, uncertain paths stop early. Use labelled rows that the model was not fitted
on, and evaluate the new model on other rows.
"""
GUARANTEE = """\
examples:
  hiclass guarantee model.skops valid.csv --max-error 0.05 -o sure.skops
  hiclass guarantee model.skops valid.csv --max-error 0.03 --level sub_product -o sure.skops
  hiclass guarantee model.skops valid.csv --costs costs.csv --max-cost 0.2 -o sure.skops

Of the rows that get a label at a level, at most a share E is wrong, with the given certainty. The
paths of the other rows stop before that level. Use labelled rows that were not used to fit the
model or to choose its settings. With too few rows, an error states how many are needed. The
guarantee holds for rows from the same source, but not if the data change.
"""
TRIAGE = """\
examples:
  hiclass guarantee model.skops valid.csv --max-error 0.05 -o sure.skops
  hiclass triage sure.skops new.csv --max-error 0.05 -o done.csv --review queue.csv
  hiclass triage model.skops new.csv --max-error 0.05 --labelled valid.csv --level product \\
    -o done.csv --review queue.csv
  hiclass triage model.skops new.csv --min-confidence 0.9 -o done.csv --review queue.csv

A row is sure if no threshold truncates its path above the given level. Sure rows get the columns of
hiclass predict. For the other rows, the queue holds the most probable classes, all different at
that level (suggestion_1, a JSON list from the first level down, probability_1, ...), the words that
support the first two suggestions (reasons), and the row of the file (source_row). Identical rows
are adjacent.
"""
REVIEW = """\
examples:
  hiclass triage model.skops new.csv --min-confidence 0.8 -o done.csv --review queue.csv
  hiclass review queue.csv --model model.skops -o reviewed.csv
  hiclass review queue.csv --model model.skops -o reviewed.csv --write

The command prints an address with a token. Open it in a browser on this machine, or in several
browsers if several people work on the queue. Every decision is saved in reviewed.csv.journal before
the next row is shown. After a crash, the same command continues where it stopped. Ctrl+C ends the
command and writes reviewed.csv: the columns of the queue, the labels, the decision (accepted,
corrected or skipped), the person, the time and the comment.
"""
LABEL_ERRORS = """\
examples:
  hiclass label-errors model.skops train.csv --rows 100 -o suspects.csv

Copies of the model are fitted on folds of the file. For every row, the output holds the probability
that its label is wrong, the level at which the error starts, and a more probable class of that
level.
"""
COMPARE = """\
examples:
  hiclass compare model.skops valid.csv new.csv
  hiclass compare model.skops valid.csv new.csv --max-false-alarms 0.001 -o compared.csv

Compares confidences, frequencies of the predicted classes, the share of rows above the thresholds,
and features. Reports significant changes and their consequence for the guarantee of the model. The
old rows must not be training rows, because the model is too confident on these.
"""
COMPARE_FLAT = """\
examples:
  hiclass compare-flat data.csv --target product sub_product
  hiclass compare-flat data.csv --target category --path-separator " > " --cv 5

A flat model, a local model and their combination are cross-validated with the same features and
classifier. Differences are in points (1 point = 0.01), with 95 % intervals from paired resamples of
the rows. If an interval includes zero, the difference is not significant.
"""
SERVE = """\
examples:
  hiclass serve model.skops
  curl http://127.0.0.1:8000/model
  curl --json '{"row": {"narrative": "my card was stolen"}}' http://127.0.0.1:8000/predict
  curl --json '{"rows": [{"narrative": "a"}, {"narrative": "b"}]}' \\
    "http://127.0.0.1:8000/predict?k=3"

GET /health reports whether the service is running, GET /model the columns that a row needs, and GET
/openapi.json the whole interface. A row must have all columns of the model; null is an empty cell.
?k=3 adds the three most probable paths. Ctrl+C or SIGTERM stops the service after the current
requests. The service has no encryption and no passwords: if you change --host, put it behind a
proxy that provides both.
"""
TREE = """\
examples:
  hiclass tree data.csv --target product sub_product
  hiclass tree data.csv --target category --path-separator " > "
  hiclass tree data.csv --target chapter block category --depth 2
"""
DEMO = """\
examples:
  hiclass demo                  animals (seconds), then ICD-10-CM (about a minute)
  hiclass demo --only animals   the first part only
"""
