/* server/route/handlers.h: the handlers in the table of routes, by file. */
#ifndef CRESSET_SERVER_ROUTE_HANDLERS_H
#define CRESSET_SERVER_ROUTE_HANDLERS_H

struct request;

/* route_catalog.c */
void handle_types(struct request *r);
void handle_labels(struct request *r);
void handle_values(struct request *r);
void handle_series(struct request *r);
/* route_delete.c */
void handle_delete(struct request *r);
/* route_live.c */
void handle_live(struct request *r);
/* route_tree.c */
void handle_flame(struct request *r);
void handle_top(struct request *r);
void handle_callers(struct request *r);
/* route_diff.c */
void handle_diff(struct request *r);
/* route_time.c */
void handle_range(struct request *r);
void handle_metric(struct request *r);
void handle_chart(struct request *r);
void handle_heatmap(struct request *r);
/* route_lanes.c */
void handle_lanes(struct request *r);
/* route_gpu.c */
void handle_gpu_idle(struct request *r);
/* route_leaks.c */
void handle_leaks(struct request *r);
/* route_sql.c */
void handle_sql(struct request *r);
/* route_otlp.c */
void handle_otlp_profiles(struct request *r);
void handle_otlp_metrics(struct request *r);
/* route_push.c */
void handle_push(struct request *r);
void handle_debug_ingest(struct request *r);
/* route_open.c */
void handle_open(struct request *r);
/* route_symbols.c */
void handle_symbols_head(struct request *r);
void handle_symbols_put(struct request *r);
/* route_status.c */
void handle_status(struct request *r);
void handle_healthz(struct request *r);
void handle_readyz(struct request *r);
/* route_metrics.c */
void handle_metrics(struct request *r);
/* route_page.c */
void handle_page(struct request *r);

#endif
