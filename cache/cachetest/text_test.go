package cachetest

import (
	"reflect"
	"testing"
)

// TestText: all of a record is compared except Degraded, which is never kept.
func TestText(t *testing.T) {
	r := filled(Origin(0))
	full := text(r)
	for _, part := range []any{r, &r.Hops[0], r.LastGood} {
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			name, field := v.Type().Field(i).Name, v.Field(i)
			was := reflect.ValueOf(field.Interface())
			field.SetZero()
			if text(r) == full && name != "Degraded" {
				t.Errorf("%s.%s is not filled or not compared", v.Type(), name)
			}
			field.Set(was)
		}
	}
}
