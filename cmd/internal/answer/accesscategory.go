package answer

import (
	"slices"

	"github.com/robotskit/robots/crawlers"
)

// An AccessCategory is the crawlers of a purpose in an access table, with how many follow which group. The counts add up to the
// number of crawlers.
type AccessCategory struct {
	Purpose crawlers.Purpose `json:"purpose"`
	// Obeying are those whose documents state that they obey the file, or a group that names them. Both lists have indexes in
	// the table, from 0.
	Obeying  []int `json:"obeying"`
	Others   []int `json:"others"`
	Named    int   `json:"named"`    // a group names them
	Fallback int   `json:"fallback"` // they follow the group of another name, because none names them
	Star     int   `json:"star"`     // they follow the group of *
	Exempt   int   `json:"exempt"`   // only that group applies, and their documents do not state that it addresses them
	None     int   `json:"none"`     // no group applies
}

// AccessCategories returns the categories of an access table for purposes. A crawler is in that of its main purpose and in those
// of its further ones.
func AccessCategories(table []CrawlerAccess, purposes []crawlers.Purpose) (list []AccessCategory) {
	for _, purpose := range purposes {
		category := AccessCategory{Purpose: purpose, Obeying: []int{}, Others: []int{}}
		for i := range table {
			if row := &table[i]; row.Purpose == purpose || slices.Contains(row.Also, purpose) {
				category.add(i, row)
			}
		}
		list = append(list, category)
	}
	return list
}

func (c *AccessCategory) add(i int, row *CrawlerAccess) {
	if row.Obeys == crawlers.ObeysYes || row.Obeys == crawlers.ObeysNamed {
		c.Obeying = append(c.Obeying, i)
	} else {
		c.Others = append(c.Others, i)
	}
	switch {
	case row.Group == nil:
		c.None++
	case row.Group.Token == AnyCrawler && row.Binds == crawlers.BindsYes:
		c.Star++
	case row.Group.Token == AnyCrawler:
		c.Exempt++
	case row.Fallback != nil:
		c.Fallback++
	default:
		c.Named++
	}
}
