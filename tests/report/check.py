# SPDX-License-Identifier: MIT
# check.py KIND FILE...: whether a report's file is what it has to be. Says what is not, and exits with 1 then.
import csv
import json
import os
import sys


def fail(text):
    print(text)
    sys.exit(1)


def check_json(path):
    try:
        import jsonschema
    except ImportError:
        print("SKIP: python3-jsonschema is not installed")
        sys.exit(77)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    schema = json.load(open(os.path.join(root, "docs", "report.schema.json")))
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(open(path))))
    if errors:
        fail("%s: %s, at %s" % (path, errors[0].message[:500], list(errors[0].absolute_path)))


def check_csv(path, report):
    rows = list(csv.DictReader(open(path, newline="", encoding="utf-8")))
    report = json.load(open(report))
    executions = report["executions"]["rows"]
    if len(rows) != len(executions):
        fail("%d rows for %d executions" % (len(rows), len(executions)))
    for row, (process, kernel, dispatch, number, replayed, start, duration) in zip(rows, executions):
        if None in row or None in row.values():
            fail("a row of another length: %r" % row)
        expected = {
            "kernel": report["kernels"][kernel]["name"],
            "mangled": report["kernels"][kernel]["mangled"],
            "pid": str(report["processes"][process]["pid"]),
            "program": report["processes"][process]["program"],
            "dispatch": str(dispatch),
            "pass": str(number),
            "replayed": str(int(replayed)),
            "start_ns": "" if start is None else str(start),
            "duration_ns": "" if duration is None else str(duration),
        }
        for key, value in expected.items():
            if row[key] != value:
                fail("%s is %r instead of %r" % (key, row[key], value))


# The Trace Event Format: every event has a phase, a process and a thread; complete events have a time and a length, and those
# of one thread nest or do not touch; metadata names each process and each thread that has events.
def check_perfetto(path, report):
    trace = json.load(open(path))
    report = json.load(open(report))
    events = trace["traceEvents"]
    named, used, complete = set(), set(), {}
    for event in events:
        for key in ("ph", "name", "pid", "tid"):
            if key not in event:
                fail("an event without %s: %r" % (key, event))
        place = (event["pid"], event["tid"])
        if event["ph"] == "M":
            if event["name"] not in ("process_name", "thread_name") or not event["args"]["name"]:
                fail("metadata: %r" % event)
            named.add((event["name"],) + (place if event["name"] == "thread_name" else (event["pid"],)))
        elif event["ph"] == "X":
            if event["ts"] < 0 or event["dur"] < 0:
                fail("a time before all times: %r" % event)
            used.add(place)
            complete.setdefault(place, []).append((round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000), event))
        else:
            fail("an unexpected phase: %r" % event)
    for pid, tid in used:
        if ("process_name", pid) not in named or ("thread_name", pid, tid) not in named:
            fail("nobody names process %s, thread %s" % (pid, tid))
    for place, spans in complete.items():
        stack = []
        for start, end, event in sorted(spans, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1] <= start:
                stack.pop()
            if stack and end > stack[-1]:
                fail("events of one thread overlap: %r" % event)
            stack.append(end)
    kinds = {}
    for event in events:
        if event["ph"] == "X":
            kinds[event["cat"]] = kinds.get(event["cat"], 0) + 1
    timed = sum(1 for row in report["executions"]["rows"] if row[6] is not None)
    if kinds.get("execution", 0) != timed or kinds.get("window", 0) != sum(1 for w in report["windows"] if w["window_ns"]):
        fail("%r for %d executions and %d windows" % (kinds, timed, len(report["windows"])))
    agents = {(w["process"], w["agent"]) for w in report["windows"] if w["window_ns"]}
    queues = {(w["process"], w["queue"]) for w in report["windows"]}
    if len(used) < len(agents) + len(queues):
        fail("%d tracks for %d agents and %d queues" % (len(used), len(agents), len(queues)))


# One file, nothing from elsewhere, its data whole.
def check_html(path, report):
    text = open(path, encoding="utf-8").read()
    for word in ("http://", "https://", "src=", "@import", "url("):
        rest = text.replace("http://www.w3.org/2000/svg", "")
        if word in rest:
            fail("it asks for something from elsewhere: %s" % word)
    start = text.index('id="data">') + len('id="data">')
    data = text[start:text.index("</script>", start)]
    if json.loads(data) != json.load(open(report)):
        fail("its data is not the report's")


{"json": check_json, "csv": check_csv, "perfetto": check_perfetto, "html": check_html}[sys.argv[1]](*sys.argv[2:])
