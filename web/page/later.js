/* later.js: modules that screens load after their first picture. */

import './core.js';

export { counted } from './counted.js';
export { serverPath } from './deeper.js';
export { drawHost } from './host.js';
export { Leaks } from './leaks.js';
export { Live } from './live.js';
export { draw, leave } from './time_panes.js';
