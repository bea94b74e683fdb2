/** `npm run telemetry`: writes the dashboard and the alerts anew. A test fails when they are not as this would write them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.mjs'
import { telemetryFiles } from './telemetry/files.mjs'

for (const [name, text] of Object.entries(telemetryFiles())) {
  writeFileSync(join(root, 'telemetry', name), text)
  console.log(`telemetry/${name}`)
}
