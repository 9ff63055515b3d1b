"""Results for people: tables, pages, charts and the site."""
