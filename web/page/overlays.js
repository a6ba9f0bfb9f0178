/* overlays.js: modules that are loaded when the user opens them: help, menus, suggestions. */

import './core.js';

export { Completion } from './complete.js';
export { exportMenu } from './export.js';
export { showHelp } from './help.js';
export { act, frameMenu } from './menu.js';
