"""Item 2: workload, split and done are defined, with one evaluator and one test set for every run."""

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.compare import evaluator_differences
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.soundness import score_faults
from pytest_mixgpu.marks.timings import score_text

SPLITS = ("train", "validation", "test")


def workload_described(evidence: Evidence) -> Finding:
    """The plan describes the workload, and each run states model size and recipe."""
    workload = evidence.workload
    missing = []
    if workload is None or not workload.description.strip():
        missing.append(evidence.undescribed or "the plan does not describe its workload")
    for run in evidence.completed:
        if not run.header.settings.recipe:
            missing.append(f"run {run.id} does not hold the recipe of model and data")
        if run.start is None or run.start.num_parameters <= 0:
            missing.append(f"run {run.id} does not state the number of parameters")
    sizes = sorted({run.start.num_parameters for run in evidence.completed if run.start is not None})
    if len(sizes) > 1:
        missing.append(f"runs differ in model size: {', '.join(f'{size:,}' for size in sizes)} parameters")
    described = "" if workload is None else f"{workload.recipe}: {workload.description}"
    return Finding(missing=tuple(missing), stated=(described, *(f"{size:,} parameters" for size in sizes)))


def splits_held_apart(evidence: Evidence) -> Finding:
    """Training, validation and test samples are counted apart, and the test set was opened once a run."""
    missing = []
    counts: dict[tuple[tuple[str, int], ...], str] = {}
    for run in evidence.completed:
        found = {} if run.start is None else run.start.data_counts
        absent = [name for name in SPLITS if found.get(name, 0) <= 0]
        if absent:
            missing.append(f"run {run.id} does not count the samples of {', '.join(absent)}")
        counts.setdefault(tuple(sorted(found.items())), run.id)
        num_tests = sum(line.split == "test" for line in run.evaluations)
        if num_tests > 1:
            missing.append(f"run {run.id} opened the test set {num_tests} times, expected once")
    if len(counts) > 1:
        missing.append(f"runs {' and '.join(counts.values())} split the data otherwise")
    stated = tuple(", ".join(f"{name} {number:,}" for name, number in sizes) for sizes in counts)
    return Finding(missing=tuple(missing), stated=stated)


def done_by_quality(evidence: Evidence) -> Finding:
    """A run is done by quality, not by steps: rule and target are written, and finished runs carry their score."""
    workload = evidence.workload
    missing = []
    if workload is None or not workload.done.strip() or not 0 < workload.target <= 1:
        missing.append(evidence.undescribed or "the plan does not say by which quality a run counts as done")
    finished = [run for run in evidence.completed if run.header.settings.to_finish]
    missing += [
        f"run {run.id} was trained to the finish and has no score on the test set"
        for run in finished
        if run.test is None
    ]
    missing += [text for run in finished for text in score_faults(run)]
    if not finished:
        missing.append("no run was trained to the finish")
    done = () if workload is None else (f"target {100 * workload.target:g} % of the test set; {workload.done}",)
    scores = tuple(
        f"{run.header.name}: {score_text(run.test)}"
        for run in finished
        if run.test is not None and run.test.num_total > 0
    )
    return Finding(missing=tuple(missing), stated=(*done, *scores))


def one_evaluator(evidence: Evidence) -> Finding:
    """One evaluation code, device and number format scored every run."""
    scored = [(run, run.test) for run in evidence.completed if run.test is not None]
    missing = [text for run, _ in scored for text in evaluator_differences(run, evidence.evaluation)]
    digests = sorted({test.evaluator_digest for _, test in scored})
    if len(digests) > 1:
        missing.append(f"{len(digests)} different evaluators scored the runs")
    if not scored:
        missing.append("no run was scored on the test set")
    stated = tuple(f"evaluator {digest[:12]} for all {len(scored)} scored runs" for digest in digests)
    return Finding(missing=tuple(missing), stated=stated)


def one_data_set(evidence: Evidence) -> Finding:
    """Every run opened the same bytes."""
    digests = {run.id: "" if run.start is None else run.start.data_digest for run in evidence.completed}
    missing = [f"run {run_id} does not hold the digest of its data" for run_id, digest in digests.items() if not digest]
    missing += [str(one) for one in evidence.superseded if one.field == "data"]
    found = sorted({digest for digest in digests.values() if digest})
    if len(found) > 1:
        missing.append(f"runs opened {len(found)} different data sets")
    return Finding(
        missing=tuple(missing), stated=tuple(f"data {digest[:12]} in all {len(digests)} runs" for digest in found)
    )


def limits_stated(evidence: Evidence) -> Finding:
    """The plan says what its numbers say nothing about."""
    workload = evidence.workload
    if workload is None or not workload.says_nothing_about.strip():
        text = evidence.undescribed or "the plan does not say what its numbers say nothing about"
        return Finding(missing=(text,), remedy="write `says_nothing_about`")
    return Finding(stated=(f"says nothing about {workload.says_nothing_about}",))


CHECKS = (
    Check(name="workload-described", about="model, size and data are described", look=workload_described),
    Check(
        name="splits-held-apart", about="splits are counted apart, the test set is opened once", look=splits_held_apart
    ),
    Check(name="done-by-quality", about="done is a quality, not a number of steps", look=done_by_quality),
    Check(name="one-evaluator", about="one evaluator scored every run", look=one_evaluator),
    Check(name="one-data-set", about="every run opened the same data", look=one_data_set),
    Check(name="limits-stated", about="what the numbers say nothing about", look=limits_stated, speaks_before=True),
)
