import type { Sandbox } from '../sandbox.js'
import type { Path } from '../web/path.js'
import { withoutProviders } from '../web/without-providers.js'
import { createNotification } from './create-notification.js'
import { showNotification, showNotifications } from './show-notifications.js'

export function notificationRoutes(sandbox: Sandbox): readonly Path[] {
  return [
    ['POST', '/notifications', sandbox.partners === undefined ? withoutProviders() : createNotification(sandbox)],
    ['GET', '/notifications', showNotifications(sandbox)],
    ['GET', '/notifications/:id(^[\\w-]+$)', showNotification(sandbox)],
  ]
}
