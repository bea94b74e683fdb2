/** The entry point `hapax/client/node`: what the client has for Node alone. */
export { fileStorage } from './file-storage.js'
