"""L4S over wired links and cells."""
