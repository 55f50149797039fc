"""Recipes are strict data, found by name, and say what they lack."""

from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.errors import MissingExtraError, PlanError, WorkloadError
from pytest_mixgpu.jobs.workloads import recipe as recipes
from pytest_mixgpu.jobs.workloads.model import Recipe
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.model import Settings
from pytest_mixgpu.records.plan_file import settings_for
from tests.samples import e1_plan

SHIPPED = ("digits-vit", "mnist-ft", "pets-vit-b16")


def shipped_text(name: str) -> str:
    """Return the text of a shipped recipe."""
    return (Path(recipes.__file__).parent / "recipes" / f"{name}.toml").read_text(encoding="utf-8")


def test_names_shipped() -> None:
    """The three recipes of the project are there."""
    assert recipes.recipe_names() == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_round_trip(name: str) -> None:
    """A recipe survives the way through plain values and JSON, as the record and the workers take it."""
    recipe = recipes.load_recipe(name)

    plain = msgspec.json.decode(msgspec.json.encode(recipe.as_dict()))

    assert recipe == msgspec.convert(plain, Recipe)


def test_user_folder_adds(tmp_path: Path) -> None:
    """A file in a user's folder is a recipe."""
    (tmp_path / "mine.toml").write_text(shipped_text("digits-vit").replace('name = "digits-vit"', 'name = "mine"'))

    assert recipes.recipe_names((tmp_path,)) == tuple(sorted((*SHIPPED, "mine")))
    assert recipes.load_recipe("mine", folders=(tmp_path,)).name == "mine"


def test_user_folder_comes_first(tmp_path: Path) -> None:
    """A user's recipe stands before a shipped one of the same name."""
    text = shipped_text("digits-vit").replace("evaluation_batch = 512", "evaluation_batch = 7")
    (tmp_path / "digits-vit.toml").write_text(text)

    assert recipes.load_recipe("digits-vit", folders=(tmp_path,)).evaluation_batch == 7


def test_unknown_name_lists_known() -> None:
    """An unknown name is answered with those that there are."""
    with pytest.raises(
        PlanError, match=r"no recipe is called 'digit-vit'; there are digits-vit, mnist-ft, pets-vit-b16"
    ):
        recipes.load_recipe("digit-vit")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "evaluation_batch = 512",
            "evaluation_batch = 512\nextras = 1",
            r"extras: found a key that there is not.*did you mean extra\?",
            id="unknown",
        ),
        pytest.param(
            "num_classes = 10\nextra",
            "num_classes = true\nextra",
            "num_classes: found true, expected a whole",
            id="type",
        ),
        pytest.param("num_classes = 10\nextra", "extra", "num_classes: found nothing", id="missing"),
        pytest.param("schema = 1", "schema = 2", "schema is 2, this version reads 1", id="schema"),
        pytest.param(
            'source = "digits"', 'source = "digit"', r"data\.source: found 'digit', expected one of digits", id="source"
        ),
        pytest.param("mean = [0.305]", "mean = [0.3, 0.3]", "one number for each of the 1 channels", id="channels"),
        pytest.param("warmup_share = 0.05", "warmup_share = 1.0", "warmup_share in", id="warmup"),
        pytest.param(":VisionTransformer", "", "module:function", id="factory"),
        pytest.param('name = "digits-vit"', 'name = "other"', "calls itself 'other'", id="name"),
        pytest.param("schema = 1", "schema = ", "cannot be read", id="syntax"),
    ],
)
def test_bad_file_names_file_and_field(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """A recipe that says too much, too little or the impossible is refused by file and field."""
    text = shipped_text("digits-vit")
    assert old in text
    path = tmp_path / "digits-vit.toml"
    path.write_text(text.replace(old, new, 1))

    with pytest.raises(PlanError, match=expected) as caught:
        recipes.load_recipe("digits-vit", folders=(tmp_path,))

    assert str(path) in str(caught.value)


def test_data_root_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument comes before the variable, and the variable before `data/` here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MIXGPU_DATA", "/variable")

    assert recipes.resolve_data_root(Path("/given")) == Path("/given")
    assert recipes.resolve_data_root(None) == Path("/variable")

    monkeypatch.delenv("MIXGPU_DATA")
    assert recipes.resolve_data_root(None) == tmp_path / "data"


def test_check_needs_no_files_for_digits(tmp_path: Path) -> None:
    """The rehearsal's workload asks for no data root."""
    recipes.check_files(recipes.load_recipe("digits-vit"), tmp_path / "nowhere")


def test_check_says_what_where_and_how(tmp_path: Path) -> None:
    """Missing files are named with their places and with what fetches them."""
    with pytest.raises(WorkloadError) as caught:
        recipes.check_files(recipes.load_recipe("pets-vit-b16"), tmp_path)

    text = str(caught.value)
    assert f"Looked under {tmp_path} (as given)" in text
    for path in ("oxford-iiit-pet/images", "oxford-iiit-pet/annotations/test.txt", "vit_base_patch16_224.safetensors"):
        assert f"missing: {tmp_path / path}" in text
    assert "images.tar.gz" in text
    assert "hf download timm/vit_base_patch16_224" in text


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        pytest.param("/named", r"Looked under /named \(as MIXGPU_DATA says\)", id="variable"),
        pytest.param("", r"/data \(the default; --mixgpu-data or MIXGPU_DATA names another\)", id="default"),
    ],
)
def test_check_says_whose_place(monkeypatch: pytest.MonkeyPatch, variable: str, expected: str) -> None:
    """The message says why it looked there."""
    monkeypatch.setenv("MIXGPU_DATA", variable)

    with pytest.raises(WorkloadError, match=expected):
        recipes.check_files(recipes.load_recipe("pets-vit-b16"), None)


def test_check_names_the_extra(tmp_path: Path) -> None:
    """A missing package is answered with the command that installs it."""
    recipe = msgspec.structs.replace(recipes.load_recipe("mnist-ft"), packages=("torch", "no_such_package"))

    with pytest.raises(MissingExtraError, match=r"no_such_package.*pip install 'pytest-mixgpu\[mnist-ft\]'"):
        recipes.check_files(recipe, tmp_path)


def test_a_recipe_of_ones_own_needs_no_extra(tmp_path: Path) -> None:
    """A missing package is then named alone: this project does not install it."""
    text = shipped_text("digits-vit").replace('extra = "torch"\n', "").replace('"sklearn"', '"no_such_package"')
    (tmp_path / "digits-vit.toml").write_text(text)
    recipe = recipes.load_recipe("digits-vit", folders=(tmp_path,))

    with pytest.raises(MissingExtraError, match=r"needs no_such_package, which is not installed$"):
        recipes.check_files(recipe, tmp_path)


@pytest.mark.parametrize("name", SHIPPED)
def test_recipe_has_one_digest_before_and_after_it_was_recorded(name: str) -> None:
    """A lock binds the recipe by this digest, and the runs that used it are joined by it."""
    plan, recipe = e1_plan(), recipes.load_recipe(name)
    settings = settings_for(plan.settings, plan.roles[0], recipe=recipe, shares=(plan.settings.round_steps,))
    recorded = msgspec.json.decode(msgspec.json.encode(settings), type=Settings)

    assert canonical_digest(recipe) == canonical_digest(recorded.recipe)
