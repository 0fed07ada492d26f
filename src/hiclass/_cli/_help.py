"""What the help of every command says behind its options: examples, and what to know first."""

DESCRIPTION = "Classify rows of a file into a hierarchy of classes."
GENERAL = """\
from a file to a model that is used:
  hiclass tree data.csv --target product sub_product           look at the labels
  hiclass fit data.csv --target product sub_product -o model.skops
  hiclass evaluate model.skops test.csv                        how good is it?
  hiclass explain model.skops test.csv --row 3                 why this class?
  hiclass predict model.skops new.csv -o out.csv               use it on a file
  hiclass serve model.skops                                    use it over HTTP

Without data of your own: hiclass demo. Every command has its own help: hiclass fit --help
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
--categories and --dates, the other columns are features, except ids, columns with one value and
columns with a different value in every row. What was chosen is written to standard error with the
reasons, and a warning names every column that alone nearly determines the target.
"""
PREDICT = """\
examples:
  hiclass predict model.skops new.csv -o out.csv
  hiclass predict model.skops new.csv.gz --min-confidence 0.8 --keep id -o out.parquet
  cat new.tsv | hiclass predict model.skops - --format tsv > out.csv

Two columns are added for every level: predicted_NAME and confidence_NAME, both empty where a path
has ended. If the model was fitted with --path-separator, one column has the whole path, and
confidence_NAME_1, confidence_NAME_2 and so on the confidence of every level. In CSV and TSV, a text
that a spreadsheet would run as a formula (it starts with = + - @, a tab or a line break, and is not
a number) gets an apostrophe in front; --unprotected leaves it as it is. Loading a model runs no
code.
"""
EVALUATE = """\
examples:
  hiclass evaluate model.skops test.csv
  hiclass evaluate model.skops test.csv --baseline train.csv
  hiclass evaluate model.skops test.csv --report report.html --min-confidence 0.8
  hiclass evaluate model.skops test.csv --report report.html --examples narrative

"classes here" are the classes of the level that a true or a predicted path of these rows has, and
"reached" is the share of rows whose predicted path gets to the level.
"""
EXPLAIN = """\
examples:
  hiclass explain model.skops test.csv --row 3
  hiclass explain model.skops test.csv --row 3 --top 10 -o why.html

At every step down the hierarchy: the probability of the class that was chosen, the runners-up, and
the features that speak for it (+) and against it (-), compared with the runner-up.
"""
REPORT = """\
examples:
  hiclass report model.skops test.csv -o report.html
  hiclass report model.skops test.csv -o report.html --examples narrative
  hiclass report model.skops new.csv -o report.html --label-errors --compare valid.csv

The report is one HTML file that loads nothing from the network. No row of the data is in it unless
--examples or, by number and labels, --label-errors asks for it. Use rows that the model was not
fitted on.
"""
TUNE = """\
examples:
  hiclass tune model.skops valid.csv --precision 0.95 -o careful.skops

Of the labels that the new model predicts for these rows, at all levels, at least this share is
right; paths end where it is not sure enough. Use labelled rows that the model was not fitted on,
and evaluate the new model on others.
"""
GUARANTEE = """\
examples:
  hiclass guarantee model.skops valid.csv --max-error 0.05 -o sure.skops
  hiclass guarantee model.skops valid.csv --max-error 0.03 --level sub_product -o sure.skops
  hiclass guarantee model.skops valid.csv --costs costs.csv --max-cost 0.2 -o sure.skops

Of the rows that the new model answers at a level, at most this share is wrong, with the certainty
that is asked for; the others end before it. Use labelled rows that the model was not fitted on and
that were not used to choose anything. With few rows it says how many are needed. It holds for rows
that come from where these come from, not after a drift.
"""
TRIAGE = """\
examples:
  hiclass guarantee model.skops valid.csv --max-error 0.05 -o sure.skops
  hiclass triage sure.skops new.csv --max-error 0.05 -o done.csv --review queue.csv
  hiclass triage model.skops new.csv --max-error 0.05 --labelled valid.csv --level product \\
    -o done.csv --review queue.csv
  hiclass triage model.skops new.csv --min-confidence 0.9 -o done.csv --review queue.csv

A row is sure if no threshold shortens its path, down to the level that is asked for. The sure rows
get the columns of hiclass predict. The others get the most probable classes, each another one at
that level (suggestion_1, a JSON list from the first level down, and probability_1, and so on), the
words that speak for the first and for the second (reasons), and the row of the file (source_row).
Identical rows follow each other.
"""
REVIEW = """\
examples:
  hiclass triage model.skops new.csv --max-error 0.05 -o done.csv --review queue.csv
  hiclass review queue.csv --model model.skops -o reviewed.csv
  hiclass review queue.csv --model model.skops -o reviewed.csv --write

The command prints an address with a token: open it in a browser on this machine, in several if
several people work on the queue. Every decision is on disk in reviewed.csv.journal before the next
row is shown, so that nothing is lost whatever happens: the same command goes on where it ended.
Ctrl+C ends it and writes reviewed.csv, which has the columns of the queue, the labels, and what was
decided (accepted, corrected, skipped), by whom and when, with the comment.
"""
LABEL_ERRORS = """\
examples:
  hiclass label-errors model.skops train.csv --rows 100 -o suspects.csv

Models like the given one are fitted on folds of the file. Every row gets the probability that its
label is wrong, the level from which on it is, and the likelier class there.
"""
COMPARE = """\
examples:
  hiclass compare model.skops valid.csv new.csv
  hiclass compare model.skops valid.csv new.csv --max-false-alarms 0.001 -o compared.csv

Confidence, shares of the predicted classes, the share of rows that is answered and features are
compared. What has changed by more than chance is written, and what that means for the guarantee of
the model. Use rows of then that the model was not fitted on: those would look too well known.
"""
COMPARE_FLAT = """\
examples:
  hiclass compare-flat data.csv --target product sub_product
  hiclass compare-flat data.csv --target category --path-separator " > " --cv 5

A flat model, a local model and their combination are cross-validated with the same features and
classifier. Differences in points (1 point = 0.01) have 95 % intervals from paired resamples of the
rows. An interval that includes zero means: no significant difference with these rows.
"""
SERVE = """\
examples:
  hiclass serve model.skops
  curl http://127.0.0.1:8000/model
  curl --json '{"row": {"narrative": "my card was stolen"}}' http://127.0.0.1:8000/predict
  curl --json '{"rows": [{"narrative": "a"}, {"narrative": "b"}]}' \\
    "http://127.0.0.1:8000/predict?k=3"

GET /health says that the service is up, GET /model what the rows need, GET /openapi.json describes
everything. A row has all columns of the model; null is an empty cell. ?k=3 adds the three most
probable paths. Ctrl+C or SIGTERM ends the service after the requests that it is working on. It has
no encryption and no passwords: with --host, put it behind a proxy that has.
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
  hiclass demo --only animals   the first part alone
"""
