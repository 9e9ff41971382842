package budget

import "testing"

// TestBudget: steps and bytes are taken until they are used up, and bytes that are not there are not
// taken.
func TestBudget(t *testing.T) {
	b := New(10, 100)
	if b.Work(10) != nil || b.Work(1) != ErrSteps || b.Work(0) != ErrSteps {
		t.Error("not ten steps are available")
	}
	if b.Left(5) != 1 || b.Used() != 11 {
		t.Errorf("%d steps are left, %d used", b.Left(5), b.Used())
	}
	if b.Hold(60) != nil || b.Hold(60) != ErrBytes || b.Hold(40) != nil || b.Hold(1) != ErrBytes {
		t.Error("not a hundred bytes are available")
	}
	if b.Free(60); b.Hold(60) != nil {
		t.Error("freed bytes are not available")
	}
	if left := New(10, 0).Left(5); left != 5 {
		t.Errorf("%d steps of 5 are left", left)
	}
	var unlimited *Budget
	if unlimited.Free(1); unlimited.Work(1<<30) != nil || unlimited.Hold(1<<30) != nil || unlimited.Left(7) != 7 || unlimited.Used() != 0 {
		t.Error("a nil budget has a limit")
	}
}

// TestReading: a line takes steps, whatever ends it, and however short it is.
func TestReading(t *testing.T) {
	for text, want := range map[string]int{"": 1, "abcdefgh": 5, "\n\n\n\n": 7, "\r\r\r\r": 7, "\r\n\r\n": 5, "a: b\n": 4} {
		if got := Reading(text, text); got != 2*want-1 || Reading([]byte(text)) != want {
			t.Errorf("%q twice takes %d steps, want %d", text, got, 2*want-1)
		}
	}
}
