;;; jumpseat-context.el --- The context of a chat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A chat has a set of items: regions, buffers, files, directories and pages.
;; Each question is sent with their current texts.  A text that the chat already
;; contains is not sent again.

;;; Code:

(require 'project)
(require 'jumpseat-region)
(require 'jumpseat-rpc)
(require 'jumpseat-ui)
(require 'jumpseat-view)

(defface jumpseat-context '((t :inherit secondary-selection))
  "Regions that belong to the context of a chat."
  :group 'jumpseat)

(defcustom jumpseat-context-file-limit (* 1024 1024)
  "The maximum size in bytes of a file to add to the context of a chat.
In a directory, larger files are left out."
  :type 'natnum
  :group 'jumpseat)

(cl-defstruct (jumpseat--context-item (:constructor jumpseat--context-make-item) (:copier nil))
  label
  build                      ; returns the blocks, or nil if the item no longer exists
  (overlay nil)              ; the region in its buffer
  (size nil))                ; the number of characters when last built; nil without text

(defvar-local jumpseat--context-items nil "The context of this chat, a list of items.")
(put 'jumpseat--context-items 'permanent-local t)

;;; Blocks

(defconst jumpseat-context--media
  '(("png" . "image/png") ("jpg" . "image/jpeg") ("jpeg" . "image/jpeg") ("gif" . "image/gif")
    ("webp" . "image/webp") ("pdf" . "application/pdf"))
  "The media types of images and documents, by file name extension.")

(defun jumpseat-context--make-media-block (bytes type &optional name)
  "Return the block for BYTES of the media TYPE, an image or a document.
NAME is the file name of a document."
  (let ((source (base64-encode-string bytes t)))
    (if (string-prefix-p "image/" type)
        (list :type "image" :source source :mediaType type)
      (list :type "document" :source source :mediaType type :name name))))

(defun jumpseat-context--read-bytes (file)
  "Return the bytes of FILE."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file)
    (buffer-string)))

(defun jumpseat--context-file-block (file)
  "Return the block for FILE: its text, an image, or a document."
  (let ((type (alist-get (downcase (or (file-name-extension file) "")) jumpseat-context--media
                         nil nil #'equal)))
    (if type
        (jumpseat-context--make-media-block (jumpseat-context--read-bytes file) type
                                            (file-name-nondirectory file))
      (with-temp-buffer
        (insert-file-contents file)
        (list :type "context" :text (buffer-string) :uri (jumpseat--region-uri file)
              :languageId (let ((mode (assoc-default file auto-mode-alist #'string-match-p)))
                            (and (symbolp mode) mode (jumpseat--region-language mode))))))))

(defun jumpseat-context--binary-p (file)
  "Whether FILE is not a text: its first 8,000 bytes contain a null byte."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file nil 0 8000)
    (search-forward "\0" nil t)))

(defun jumpseat-context--list-files (directory)
  "Return the text files below DIRECTORY that are not too large.
In a project, list only files of the project, so that ignored files are left
out."
  (let* ((default-directory directory)
         (project (project-current))
         (files (if project
                    (seq-filter (lambda (file) (file-in-directory-p file directory))
                                (project-files project))
                  (directory-files-recursively directory "\\`[^.]"))))
    (seq-filter (lambda (file)
                  (and (file-regular-p file) (file-readable-p file)
                       (<= (file-attribute-size (file-attributes file))
                           jumpseat-context-file-limit)
                       (not (jumpseat-context--binary-p file))))
                files)))

(defun jumpseat--context-build (item)
  "Return the blocks of ITEM, and record their size."
  (let* ((blocks (funcall (jumpseat--context-item-build item)))
         (texts (delq nil (mapcar (lambda (block) (plist-get block :text)) blocks))))
    (setf (jumpseat--context-item-size item)
          (and texts (apply #'+ (mapcar #'length texts))))
    blocks))

(defun jumpseat--context-blocks ()
  "Return the blocks of the context of this chat.
Items that no longer exist are removed."
  (seq-mapcat
   (lambda (item)
     (or (jumpseat--context-build item)
         (progn
           (jumpseat--say "%s no longer exists, and is no longer part of the context."
                          (jumpseat--context-item-label item))
           (jumpseat--context-remove item)
           nil)))
   jumpseat--context-items))

;;; The items of a chat

(defun jumpseat--context-describe-size (item)
  "Describe the size of ITEM in a few words."
  (let ((size (jumpseat--context-item-size item)))
    (if (null size) "image or document"
      (let ((tokens (/ size 4)))
        (cond ((< tokens 1000) (format "about %d token%s" tokens (if (= tokens 1) "" "s")))
              (t (format "about %dk tokens" (/ tokens 1000))))))))

(defun jumpseat--context-show-in-header ()
  "Show the number and the size of the items of this chat in its header line."
  (let ((tokens (/ (apply #'+ (mapcar (lambda (item) (or (jumpseat--context-item-size item) 0))
                                      jumpseat--context-items))
                   4))
        (count (length jumpseat--context-items)))
    (jumpseat--view-update
     :context (when (> count 0)
                (format "context: %d (%s)" count
                        (if (< tokens 1000) (number-to-string tokens)
                          (format "%dk" (/ tokens 1000))))))))

(defun jumpseat--context-remove (item)
  "Remove ITEM from the context of this chat."
  (when (jumpseat--context-item-overlay item)
    (delete-overlay (jumpseat--context-item-overlay item)))
  (setq jumpseat--context-items (remq item jumpseat--context-items))
  (jumpseat--context-show-in-header))

(defun jumpseat--context-add (chat item)
  "Add ITEM to the context of CHAT, replacing an item with the same label."
  (let ((blocks (jumpseat--context-build item)))
    (unless blocks (user-error "%s has no text" (jumpseat--context-item-label item)))
    (with-current-buffer chat
      (dolist (each jumpseat--context-items)
        (when (equal (jumpseat--context-item-label each) (jumpseat--context-item-label item))
          (jumpseat--context-remove each)))
      (setq jumpseat--context-items (append jumpseat--context-items (list item)))
      (jumpseat--context-show-in-header)
      (jumpseat--say "%s is part of the context of %s (%s)." (jumpseat--context-item-label item)
                     (buffer-name chat) (jumpseat--context-describe-size item)))))

;;; Kinds of items

(defun jumpseat--context-region-item (beg end)
  "Return an item for the text from BEG to END.
The item follows later edits of that text."
  (let ((overlay (make-overlay beg end nil nil t))
        (name (buffer-name)))
    (overlay-put overlay 'face 'jumpseat-context)
    (overlay-put overlay 'help-echo "This text belongs to the context of a chat.")
    (jumpseat--context-make-item
     :overlay overlay
     :label (format "%s:%d-%d" name (line-number-at-pos beg t)
                    ;; The last character may be a line ending, which belongs to
                    ;; the line before END.
                    (line-number-at-pos (max beg (1- end)) t))
     :build (lambda ()
              (when (and (overlay-buffer overlay)
                         (< (overlay-start overlay) (overlay-end overlay)))
                (with-current-buffer (overlay-buffer overlay)
                  (list (jumpseat--region-block (overlay-start overlay)
                                                (overlay-end overlay)))))))))

(defun jumpseat--context-buffer-item (buffer)
  "Return an item for the whole BUFFER."
  (jumpseat--context-make-item
   :label (buffer-name buffer)
   :build (lambda ()
            (when (buffer-live-p buffer)
              (with-current-buffer buffer
                (list (append (jumpseat--region-block 1 (1+ (buffer-size)))
                              (unless buffer-file-name (list :label (buffer-name))))))))))

(defun jumpseat--context-file-item (file)
  "Return an item for FILE."
  (let ((path (expand-file-name file)))
    (unless (and (file-regular-p path) (file-readable-p path))
      (user-error "The file %s cannot be read" file))
    (when (> (file-attribute-size (file-attributes path)) jumpseat-context-file-limit)
      (user-error "The file %s is larger than `jumpseat-context-file-limit'" file))
    (jumpseat--context-make-item
     :label (abbreviate-file-name path)
     :build (lambda () (when (file-readable-p path) (list (jumpseat--context-file-block path)))))))

(defun jumpseat--context-directory-item (directory)
  "Return an item for the files below DIRECTORY."
  (let ((path (file-name-as-directory (expand-file-name directory))))
    (jumpseat--context-make-item
     :label (abbreviate-file-name path)
     :build (lambda () (when (file-directory-p path)
                         (mapcar #'jumpseat--context-file-block
                                 (jumpseat-context--list-files path)))))))

(defun jumpseat--context-text-item (label text)
  "Return an item labelled LABEL with the fixed TEXT."
  (jumpseat--context-make-item
   :label label :build (lambda () (list (list :type "context" :text text :label label)))))

(defun jumpseat--context-image-item (bytes type)
  "Return an item for the image BYTES of the media TYPE from the clipboard."
  (jumpseat--context-make-item
   :label (format-time-string "clipboard image %T")
   :build (lambda () (list (jumpseat-context--make-media-block bytes type)))))

(defun jumpseat--context-fetch-page (url callback)
  "Fetch the page at URL, and call CALLBACK with an item for its text."
  (jumpseat--rpc-request
   "context/fetch" (list :url url)
   (jumpseat--make-callback
    (lambda (result)
      (let ((page (plist-get result :context)))
        (funcall callback (jumpseat--context-make-item :label (plist-get page :uri)
                                                       :build (lambda () (list page)))))))))

(provide 'jumpseat-context)
;;; jumpseat-context.el ends here
