"""Free labels are the first ones, and finding them takes no longer for the thousandth of a name."""

from hypothesis import given
from hypothesis import strategies as st

from simengine.builder.importers.free_labels import FreeLabels

words = st.sampled_from(["a", "b", "a_1", "a_2", "a_1_1", "b_3"])


@given(st.lists(words, max_size=6), st.lists(words, max_size=30))
def test_the_label_is_the_first_free_one(taken, wanted):
    labels, used = FreeLabels(taken), set(taken)
    for word in wanted:
        expected = word if word not in used else next(
            label for label in (f"{word}_{number}" for number in range(1, 100)) if label not in used
        )  # fmt: skip
        assert labels.take(word) == expected
        used.add(expected)


def test_the_work_for_a_label_does_not_grow_with_those_before():
    class Counted(set):
        looks = 0

        def __contains__(self, label):
            Counted.looks += 1
            return super().__contains__(label)

    labels = FreeLabels()
    labels._taken = Counted()
    for _ in range(1000):
        labels.take("link/visual")
    assert Counted.looks <= 2 * 1000
