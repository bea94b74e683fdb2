import type { Sandbox } from '../sandbox.js'
import type { Path } from '../web/path.js'
import { withoutProviders } from '../web/without-providers.js'
import { createNotification } from './create-notification.js'
import { sendAtOnce } from './send-at-once.js'
import { showNotification, showNotifications } from './show-notifications.js'

export function notificationRoutes(sandbox: Sandbox): readonly Path[] {
  return [
    ['POST', '/notifications', creating(sandbox)],
    ['GET', '/notifications', showNotifications(sandbox)],
    ['GET', '/notifications/:id(^[\\w-]+$)', showNotification(sandbox)],
  ]
}

function creating(sandbox: Sandbox): Path[2] {
  const { partners, quick } = sandbox
  if (partners === undefined) return withoutProviders()
  return quick === undefined ? createNotification(sandbox) : sendAtOnce(sandbox, quick, partners)
}
