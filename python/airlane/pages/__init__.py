"""Pages and pictures: templates, charts, the page of each kind of result."""
