package lsp

import "github.com/robotskit/robots/cmd/internal/answer"

// The part of the Language Server Protocol 3.17 that the server uses.

type position struct {
	Line      int `json:"line"`      // from 0
	Character int `json:"character"` // from 0, in units of UTF-16
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type diagnostic struct {
	Range           textRange `json:"range"`
	Severity        int       `json:"severity"` // 1 error, 2 warning, 3 information
	Code            string    `json:"code"`
	CodeDescription struct {
		Href string `json:"href"`
	} `json:"codeDescription"`
	Source  string         `json:"source"`
	Message string         `json:"message"`
	Data    answer.Finding `json:"data"` // with columns in bytes, and the fix
}

type textDocument struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId"`
	Text       string `json:"text"`
	Version    int    `json:"version"`
}

type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
}

type changeParams struct {
	documentParams
	ContentChanges []struct {
		Text string `json:"text"`
	} `json:"contentChanges"`
}

type positionParams struct {
	documentParams
	Position position `json:"position"`
}

type codeActionParams struct {
	documentParams
	Range   textRange `json:"range"`
	Context struct {
		Only []string `json:"only"`
	} `json:"context"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics,omitempty"`
	IsPreferred bool          `json:"isPreferred,omitempty"`
	Edit        workspaceEdit `json:"edit"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type hover struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type completionItem struct {
	Label         string    `json:"label"`
	Kind          int       `json:"kind"` // 5 field, 12 value
	Detail        string    `json:"detail,omitempty"`
	Documentation string    `json:"documentation,omitempty"`
	TextEdit      *textEdit `json:"textEdit,omitempty"`
}
