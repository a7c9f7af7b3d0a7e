/** Every suite, in this order; mocha's globals exist when this module is evaluated. */
import './manifest.suite';
import './workspace.suite';
import './completion.suite';
import './engine.suite';
import './chat.suite';
import './server.suite';
