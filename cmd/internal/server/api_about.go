package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

type versionAnswer struct {
	Body struct {
		Version string `json:"version" example:"v1.2.3"`
	}
}

func (s *Service) registerAbout() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "version", Method: http.MethodGet, Path: "/version", Summary: "Show the version",
	}, nil), func(context.Context, *struct{}) (*versionAnswer, error) {
		a := &versionAnswer{}
		a.Body.Version = s.parts.Version
		return a, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "openapi", Method: http.MethodGet, Path: "/openapi.json", Summary: "This description, as OpenAPI 3.1",
	}, map[string]*huma.Schema{"application/openapi+json": {Type: huma.TypeObject}}), func(context.Context, *struct{}) (*answer, error) {
		return &answer{Status: http.StatusOK, ContentType: "application/openapi+json", CacheControl: "private, max-age=300", Body: s.openAPI}, nil
	})
}
